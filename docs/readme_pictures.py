"""Take the README's screenshots of the running app: `python -m docs.readme_pictures`."""

from tests.support.appserver import ROOT, chromium, serve

FOLDER = ROOT / ".github" / "pictures"
SHOWN = {
    "inside-cusum": "inside-cusum",
    "stm32": "stm32",
}
SIZE = {"width": 1280, "height": 800}
SETTLE_MS = 1500  # charts fade in


def main() -> None:
    """Open each page and save a screenshot."""
    with serve() as address, chromium() as browser:
        for name, link in SHOWN.items():
            page = browser.new_page(viewport=SIZE)
            page.goto(f"{address}/{link}")
            page.wait_for_selector("[data-testid=stApp][data-test-script-state=notRunning]")
            page.wait_for_selector("h1")
            page.wait_for_timeout(SETTLE_MS)
            page.wait_for_selector("[data-testid=stApp][data-test-script-state=notRunning]")
            page.wait_for_timeout(SETTLE_MS)
            page.screenshot(path=FOLDER / f"{name}.png")
            page.close()


if __name__ == "__main__":
    main()
