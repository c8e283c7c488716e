"""Make the README's animation of the Drift lab: `python -m docs.animation`.

The player is moved to one sample after the other and photographed in Chromium; Pillow joins the pictures.
"""

import io

from PIL import Image

from tests.support.appserver import ROOT, chromium, serve

FILE = ROOT / ".github" / "pictures" / "drift-lab.webp"
LINK = "drift-lab?data=points&drift=labels-swapped&per_class=750&seed=1" + "".join(
    f"&learners={name}" for name in ("static", "cit", "active", "hybrid")
)
SIZE = {"width": 1280, "height": 1000}
WIDTH = 880  # px of the animation
MARGIN = 8  # px around the player
SAMPLES = (*range(600, 740, 20), *range(740, 960, 8), *range(960, 1480, 40), 1499)  # slow around the change at 750
FRAME_MS, LAST_MS = 120, 3000
QUALITY = 70  # of lossy WebP, 0 to 100
LARGEST = 1_000_000  # bytes


def main() -> None:
    """Photograph the player at each sample and write the animation."""
    frames = []
    with serve() as address, chromium() as browser:
        page = browser.new_page(viewport=SIZE)
        page.goto(f"{address}/{LINK}")
        player = page.locator(".player").first
        page.wait_for_selector(".player[data-time]")
        page.wait_for_selector("[data-testid=stApp][data-test-script-state=notRunning]")
        if player.evaluate("player => player.dataset.playing") == "true":
            player.focus()
            page.keyboard.press("k")
        box, rest = player.bounding_box(), player.locator(".more").bounding_box()
        margin = {"x": box["x"] - MARGIN, "y": box["y"] - MARGIN, "width": box["width"] + 2 * MARGIN}
        box = margin | {"height": rest["y"] - box["y"] + MARGIN}  # without the numbers below the controls
        for sample in SAMPLES:
            player.locator(".scrub").fill(str(sample))
            page.wait_for_function(f"player => Number(player.dataset.time) === {sample}", arg=player.element_handle())
            page.evaluate("document.activeElement.blur()")  # no frame around the slider
            picture = Image.open(io.BytesIO(page.screenshot(clip=box))).convert("RGB")
            frames.append(
                picture.resize((WIDTH, round(WIDTH * picture.height / picture.width)), Image.Resampling.LANCZOS)
            )
    times = [FRAME_MS] * (len(frames) - 1) + [LAST_MS]
    frames[0].save(
        FILE, save_all=True, append_images=frames[1:], duration=times, loop=0, quality=QUALITY, method=6,
        minimize_size=True,
    )  # fmt: skip
    size = FILE.stat().st_size
    print(f"{FILE.relative_to(ROOT)}: {len(frames)} pictures, {size:,} bytes")
    if size > LARGEST:
        raise SystemExit(f"more than {LARGEST:,} bytes: lower QUALITY or WIDTH")


if __name__ == "__main__":
    main()
