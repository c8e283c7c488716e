"""The Microphone page in a real Chromium whose microphone plays generated clips, is refused, missing or gone."""

import os
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import pytest
import soundfile
import soxr
from playwright.sync_api import expect

from benchmarks.bench_microphone import microphone_file
from pages.views.microphone.hearing import MOST_BYTES
from pages.views.microphone.sample_clips import sample_clip
from tests.pages.test_app_browser import LOCAL, POLICY, WAIT, server, settle  # noqa: F401
from tests.pages.test_pages_browser import choose
from tests.support.appserver import chromium, serve
from tmlcd_core.features.voice import VOICE_EXTRACTORS, open_take
from tmlcd_core.live import LiveSession
from tmlcd_core.viz.medium import wav

pytestmark = pytest.mark.browser
if shutil.which("chromium") is None:
    pytest.skip("*** NO CHROMIUM: the browser tests are skipped ***", allow_module_level=True)

VOICES = os.environ.get("TMLCD_VOICES", "")
HOSTILE = "<img src=x onerror=window.bad=1>"
ELSEWHERE = "lab.example"
ALLOWED, REFUSED = "--use-fake-ui-for-media-stream", "--deny-permission-prompts"
DEVICE = "--use-fake-device-for-media-stream"


@contextmanager
def opened(address: str, *flags: str, before: Callable[[Any], object] = lambda page: None, **options: Any) -> Iterator:
    """The page in a new browser; an error, a request to another host or a violation of the policy fails the test."""
    with chromium(*flags) as running:
        page = running.new_page(viewport={"width": 1280, "height": 720}, **options)
        page.set_default_timeout(WAIT)
        faults: list[str] = []
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on("request", lambda request: faults.append(request.url) if foreign(request.url) else None)
        page.on("console", lambda told: faults.append(told.text) if told.text.startswith("policy:") else None)
        page.add_init_script(POLICY)
        before(page)
        page.goto(address)
        settle(page)
        page.wait_for_selector(".recorder")
        yield page
        assert faults == []
        assert page.locator("[data-testid=stException]").count() == 0


def foreign(url: str) -> bool:
    parts = urlsplit(url)
    return parts.scheme.startswith(("http", "ws")) and parts.hostname not in {*LOCAL, ELSEWHERE}


def speaking(word: str, folder: Path) -> list[str]:
    """Flags of a browser whose microphone is allowed and plays one word."""
    recording = microphone_file(folder / f"{word}.wav", word)
    return [ALLOWED, DEVICE, f"--use-file-for-fake-audio-capture={recording}"]


def phase(page: Any, wanted: str) -> None:
    page.wait_for_selector(f".recorder[data-phase={wanted}]")


def listening(page: Any) -> None:
    """Wait until the microphone is on; a take may be under way already."""
    page.wait_for_selector(".recorder:is([data-phase=room], [data-phase=armed], [data-phase=recording])")


def counted(page: Any, word: str, count: int) -> None:
    """Wait until a word has this number of takes."""
    counter(page, word, count).wait_for()


def counter(page: Any, word: str, count: int) -> Any:
    return page.get_by_role("radio", name=f"{word} · {count}", exact=True)


def takes_done(page: Any, count: int) -> None:
    page.wait_for_selector(f".recorder[data-done='{count}']")


def others(page: Any) -> None:
    """Open the list of other sources."""
    if not page.get_by_text("Ready-made clips, spoken").is_visible():
        page.get_by_text("No microphone?").click()
    page.get_by_text("Ready-made clips, spoken").first.wait_for()


def ready(page: Any, name: str, sign: str) -> None:
    """Press a button of the ready-made clips and wait for its sign."""
    settle(page)
    page.get_by_role("button", name=name, exact=True).click()
    page.get_by_text(sign).first.wait_for()
    settle(page)


def say_words(page: Any) -> None:
    """Go to step 2, and wait for what only this step shows."""
    page.get_by_role("button", name="Say words").click()
    page.get_by_text("The prediction appears here").first.wait_for()
    settle(page)


# ---------------------------------------------------------------- with a microphone


def start(page: Any) -> None:
    page.get_by_role("button", name="Start listening").click()


def stop(page: Any) -> None:
    """Stop listening, and wait until the server has processed every take."""
    page.get_by_role("button", name="Stop listening").click()
    phase(page, "ready")
    page.wait_for_selector(".recorder[data-waiting='0']")
    settle(page)


def test_one_click_teaches_three_words(server, tmp_path):  # noqa: F811
    words = [microphone_file(tmp_path / f"{word}.wav", word, takes=1) for word in ("yes", "no", "up")]
    sounds = [soundfile.read(path) for path in words]
    soundfile.write(all_words := tmp_path / "all.wav", np.concatenate([s for s, _ in sounds]), sounds[0][1])
    with opened(f"{server}/microphone", ALLOWED, DEVICE, f"--use-file-for-fake-audio-capture={all_words}") as page:
        start(page)
        page.get_by_text("Every word has enough takes").first.wait_for()
        stop(page)
        for word in ("yes", "no", "up"):
            assert page.get_by_role("radio", name=re.compile(f"^{word} · [12]$")).count() == 1
        say_words(page)
        page.evaluate("""() => {
            const recorder = document.querySelector('.recorder') ?? [...document.querySelectorAll('*')]
              .map((node) => node.shadowRoot?.querySelector('.recorder')).find(Boolean);
            const said = () => [...recorder.querySelectorAll('.bar')].slice(0, -1)
              .reduce((sum, bar) => sum + Number.parseInt(bar.lastChild.textContent), 0);
            window.moved = [];
            new MutationObserver(() => recorder.dataset.phase === 'recording' && window.moved.push(said()))
              .observe(recorder.querySelector('.bars'), { subtree: true, childList: true, characterData: true });
        }""")
        page.get_by_role("button", name="Listen (space)").click()
        page.wait_for_function("() => window.moved.some((sum) => sum >= 98)")  # the bars move while a word is said
        page.get_by_text("the word was").first.wait_for()  # judged as the word that the page asked for, without a click
        page.wait_for_function("() => document.querySelector('.st-key-mic-answer').innerText.includes('sure')")


def test_the_address_of_the_votes_answers_nobody_else_and_no_large_sound(server):  # noqa: F811
    with chromium() as running:
        page = running.new_page()
        for session in ("", "x" * 22, "../../etc"):
            answer = page.request.post(f"{server}/microphone/hearing?session={session}", data=b"no sound")
            assert (answer.status, answer.body()) == (204, b"")
        assert page.request.post(f"{server}/microphone/hearing", data=bytes(MOST_BYTES + 1)).status == 413


def test_teach_say_correct_drift_and_alarm_by_voice(server, tmp_path):  # noqa: F811
    with opened(f"{server}/microphone", *speaking("yes", tmp_path)) as page:
        counter(page, "no", 0).click()
        page.get_by_text("Say “no”", exact=True).first.wait_for()
        counter(page, "yes", 0).click()  # a chosen word stays
        page.get_by_text("Say “yes”", exact=True).first.wait_for()
        page.locator(".recorder .main").focus()
        page.keyboard.press("Space")
        counted(page, "yes", 2)
        address = page.url
        assert "session=" in address
    with opened(address, *speaking("no", tmp_path)) as page:
        page.get_by_role("radio", name=re.compile("^no · 0")).click()
        page.get_by_text("Say “no”", exact=True).first.wait_for()
        start(page)
        counted(page, "no", 2)
        stop(page)
        others(page)
        ready(page, "3 of each word", "Every word has enough takes")
        say_words(page)
        page.get_by_text("Tell me what to say").click()
        page.get_by_text("Say one of the words", exact=True).first.wait_for()
        page.get_by_role("button", name="Listen (space)").click()
        page.get_by_text("What did you say?").first.wait_for()
        expect(page.locator(".st-key-mic-answer [data-testid=stMetricValue]").first).to_have_text("no", timeout=WAIT)
        stop(page)
        page.keyboard.press("3")
        page.get_by_text("Wrong: the word was “up”").first.wait_for()
        settle(page)
        page.keyboard.press("2")  # one key corrects it
        page.get_by_text("Right: the word was “no”").first.wait_for()
        page.locator(".js-plotly-plot").first.wait_for()

        others(page)
        ready(page, "10 random words", "say 1 more word")
        ready(page, "10 random words", "change something, and see")
        page.get_by_role("button", name="Change something").click()
        choose(page, "What changes?", "A simulated fault")
        page.get_by_role("button", name="Begin").click()
        page.get_by_text("From now on every take gets the effect “wrong sample rate”").first.wait_for()
        page.get_by_text("Half of the measured alarms came within").first.wait_for()
        page.get_by_text("Tell me what to say").click()
        settle(page)
        page.get_by_role("button", name="Listen (space)").click()
        page.get_by_text(re.compile("Alarm of (Active|Hybrid) after")).first.wait_for(timeout=2 * WAIT)
        page.locator(".st-key-mic-alarm").wait_for()


def test_a_voice_starts_a_take_above_hum_and_an_offset(server, tmp_path):  # noqa: F811
    *flags, capture = speaking("no", tmp_path)
    clean = capture.partition("=")[2]
    samples, rate = soundfile.read(clean)
    hum = 0.05 + 0.1 * np.sin(2 * np.pi * 50 * np.arange(len(samples)) / rate)
    soundfile.write(humming := tmp_path / "humming.wav", 0.5 * samples + hum, rate, subtype="PCM_16")
    with opened(f"{server}/microphone", *flags, f"--use-file-for-fake-audio-capture={humming}") as page:
        counter(page, "no", 0).click()
        page.get_by_text("Say “no”", exact=True).first.wait_for()
        start(page)
        counted(page, "no", 2)


def test_a_long_take_is_cut_and_takes_are_heard_moved_and_dropped(server, tmp_path):  # noqa: F811
    with opened(f"{server}/microphone", *speaking("yes", tmp_path)) as page:
        page.get_by_role("button", name="Long take (10 s)").click()
        page.get_by_text(re.compile("Recording, [1-3] s left")).first.wait_for()
        page.get_by_role("button", name="Stop (space)").click()
        page.get_by_text("words found").first.wait_for()
        found = int(page.get_by_role("button", name=re.compile("^Keep ")).inner_text().split()[-3])
        assert 2 <= found <= 5  # one every 2.2 s: on a busy machine the take may run to its 10 s
        page.get_by_role("button", name="Delete take 1 of").click()
        page.get_by_role("button", name=re.compile(f"^Keep {found - 1} as")).click()
        counted(page, "yes", found - 1)
        page.wait_for_selector("[data-testid=stApp][data-test-script-state=notRunning]")  # the gallery is drawn anew
        page.get_by_role("button", name="Play take 1 of “yes”").click()
        page.wait_for_selector(".gallery[data-played]")
        page.get_by_role("group", name="Selected take").get_by_role("button", name="up").click()
        counted(page, "up", 1)
        page.get_by_role("button", name="Play take 1 of “up”").focus()
        page.keyboard.press("Delete")
        counted(page, "up", 0)
        expect(page.locator(".gallery .take")).to_have_count(found - 2, timeout=WAIT)


def test_takes_wait_for_a_slow_server_and_none_is_lost(server, tmp_path):  # noqa: F811
    held: list[Any] = []
    slow = {"now": False}

    def through(socket: Any) -> None:
        real = socket.connect_to_server()

        def answer(message: Any) -> None:
            if slow["now"]:
                held.append(lambda: socket.send(message))
            else:
                socket.send(message)

        real.on_message(answer)

    def before(page: Any) -> None:
        page.route_web_socket("**/_stcore/stream", through)

    with opened(f"{server}/microphone", *speaking("up", tmp_path), before=before) as page:
        counter(page, "no", 0).click()
        page.get_by_text("Say “no”", exact=True).first.wait_for()
        counter(page, "yes", 0).click()
        page.get_by_text("Say “yes”", exact=True).first.wait_for()
        page.get_by_label("Listen all the time").uncheck()
        page.get_by_role("button", name="Turn on the microphone").click()
        counted(page, "yes", 1)
        phase(page, "ready")
        others(page)
        ready(page, "yes", "yes · 2")
        ready(page, "yes", "yes · 3")
        slow["now"] = True
        for waiting in (1, 2, 3):
            page.locator(".recorder .main").click()
            page.wait_for_selector(f".recorder[data-waiting='{waiting}']")
        page.locator(".recorder .main").click()
        page.get_by_text("None is lost").first.wait_for()
        slow["now"] = False
        for send in held:
            send()
        takes_done(page, 4)
        counted(page, "yes", 6)  # the turn passes on after five, but "yes" was asked for when they were recorded


def test_the_microphone_is_given_back_when_it_goes_and_when_the_page_is_left(server, tmp_path):  # noqa: F811
    def before(page: Any) -> None:
        page.add_init_script("""
            const open = navigator.mediaDevices.getUserMedia.bind(navigator.mediaDevices);
            navigator.mediaDevices.getUserMedia = async (wishes) => {
              window.wishes = wishes.audio;
              return (window.stream = await open(wishes));
            };
        """)

    with opened(f"{server}/microphone", *speaking("yes", tmp_path), before=before) as page:
        start(page)
        listening(page)
        wishes = page.evaluate("window.wishes")
        assert wishes == {"echoCancellation": False, "noiseSuppression": False, "autoGainControl": False}
        page.evaluate("Object.defineProperty(document, 'hidden', { value: true, configurable: true })")
        page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")  # another tab is in front
        phase(page, "ready")
        page.evaluate("delete document.hidden; document.dispatchEvent(new Event('visibilitychange'))")
        listening(page)
        page.evaluate("stream.getTracks()[0].dispatchEvent(new Event('ended'))")
        page.get_by_text("The microphone was disconnected").first.wait_for()
        phase(page, "off")
        start(page)
        listening(page)
        assert page.evaluate("stream.getTracks()[0].readyState") == "live"
        page.locator("[data-testid=stSidebarNavLink]", has_text="Paper").click()
        page.wait_for_url("**/paper")
        page.wait_for_function("() => stream.getTracks()[0].readyState === 'ended'")


def test_a_withdrawn_permission_says_so_and_keeps_the_words_of_a_long_take(server, tmp_path):  # noqa: F811
    with opened(f"{server}/microphone", *speaking("yes", tmp_path)) as page:
        browser = page.context.new_cdp_session(page)
        here = browser.send("Target.getTargetInfo")["targetInfo"]["browserContextId"]
        microphone = {"permission": {"name": "microphone"}, "origin": server, "browserContextId": here}
        browser.send("Browser.setPermission", microphone | {"setting": "granted"})
        page.get_by_role("button", name="Long take (10 s)").click()
        page.get_by_text(re.compile("Recording, [1-4] s left")).first.wait_for()
        browser.send("Browser.setPermission", microphone | {"setting": "denied"})
        page.get_by_text("The permission for the microphone was withdrawn").first.wait_for()
        phase(page, "off")
        page.get_by_text("words found").first.wait_for()
        browser.send("Browser.setPermission", microphone | {"setting": "granted"})
        start(page)
        listening(page)


def spoken(voice: str, folder: Path) -> tuple[list[bytes], np.ndarray]:
    """Three words to teach as WAV bytes, and takes of another word at 48 kHz with pauses, of one voice."""
    if voice == "eSpeak":
        other, _ = soundfile.read(microphone_file(folder / "stop.wav", "stop", takes=3))
        return [wav(*sample_clip(word, 0)) for word in ("yes", "no", "up")], other
    if not VOICES:
        pytest.skip("*** TMLCD_VOICES is not set: not tested with real voices ***")
    speaker = min(path.stem.split("_")[1] for path in Path(VOICES).glob("*_*_*.flac"))
    clips = {digit: sorted(Path(VOICES).glob(f"{digit}_{speaker}_*.flac")) for digit in "1378"}
    parts = [np.zeros(round(1.2 * 48_000))]
    for path in clips["8"][:3]:
        samples, rate = soundfile.read(path)
        parts += [soxr.resample(0.3 * samples / np.abs(samples).max(), rate, 48_000), parts[0]]
    return [wav(*soundfile.read(clips[digit][0])) for digit in "137"], np.concatenate(parts)


@pytest.mark.parametrize("voice", ["eSpeak", "real"])
def test_a_word_that_was_not_taught_is_unknown_and_not_learned_as_the_asked_one(voice, tmp_path):
    taught, untaught = spoken(voice, tmp_path)
    soundfile.write(file := tmp_path / "other.wav", untaught, 48_000, subtype="PCM_16")
    with serve() as fresh, opened(
        f"{fresh}/microphone", ALLOWED, DEVICE, f"--use-file-for-fake-audio-capture={file}"
    ) as page:  # fmt: skip
        others(page)
        files = page.locator("[data-testid=stMain] [data-testid=stFileUploaderDropzoneInput]")
        for word, sound in zip(("yes", "no", "up"), taught, strict=True):
            files.set_input_files({"name": f"{word}.wav", "mimeType": "audio/wav", "buffer": sound})
            counted(page, word, 1)
            settle(page)
        say_words(page)
        page.get_by_text("Features", exact=True).click()
        network = page.get_by_text(VOICE_EXTRACTORS["speech"].explain)
        for _ in range(60):  # every run of the page looks whether the network is loaded
            if network.count():
                break
            for step in ("3 Change", "2 Say"):
                page.get_by_role("radio", name=step).click()
                settle(page)
        expect(network).to_be_visible()
        prompt = page.locator(".recorder .prompt").inner_text()
        start(page)
        takes_done(page, 3)
        stop(page)
        expect(page.locator(".st-key-mic-answer [data-testid=stMetricValue]")).to_have_text("unknown", timeout=WAIT)
        assert page.locator(".recorder .prompt").inner_text() == prompt, "the page asks for the same word again"
        page.get_by_text("Nothing was learned").first.wait_for()
        page.get_by_text("after the first judged answer").first.wait_for()
        page.keyboard.press("2")
        page.get_by_text("the word was “no”").first.wait_for()


# ---------------------------------------------------------------- without one


def test_a_refused_microphone_says_so_and_the_page_works_without(server):  # noqa: F811
    with opened(f"{server}/microphone", REFUSED, DEVICE) as page:
        start(page)
        page.get_by_text("The browser blocked the microphone").first.wait_for()
        phase(page, "off")
        others(page)
        ready(page, "3 of each word", "Every word has enough takes")
        say_words(page)
        others(page)
        ready(page, "up", "the word was “up”")


def test_the_space_bar_works_after_the_menu_a_click_beside_everything_and_choosing_a_word(server, tmp_path):  # noqa: F811
    with opened(f"{server}/microphone", *speaking("no", tmp_path)) as page:
        page.locator("[data-testid=stSidebarNavLink]", has_text="Microphone").click()
        settle(page)
        page.keyboard.press("Space")
        listening(page)
        page.get_by_role("button", name="Switch off").click()
        page.get_by_role("heading", name="Microphone").click()
        page.keyboard.press("Space")
        counted(page, "yes", 1)
        stop(page)
        up = page.get_by_role("radio", name=re.compile("^up · "))
        before = int(up.inner_text().split()[-1])
        up.click()
        page.get_by_text("Say “up”", exact=True).first.wait_for()
        settle(page)
        page.keyboard.press("Space")
        counted(page, "up", before + 1)


def test_a_computer_without_a_microphone_says_so(server):  # noqa: F811
    with opened(f"{server}/microphone", ALLOWED) as page:
        page.locator(".recorder .main").focus()
        page.keyboard.press("r")
        page.get_by_text("No microphone found").first.wait_for()
        phase(page, "off")


def test_plain_http_from_another_host_says_so(monkeypatch):
    monkeypatch.setenv("TMLCD_HOSTS", ELSEWHERE)
    with serve() as address:
        far = address.replace("127.0.0.1", ELSEWHERE)
        with opened(f"{far}/microphone", f"--host-resolver-rules=MAP {ELSEWHERE} 127.0.0.1", ALLOWED, DEVICE) as page:
            start(page)
            page.get_by_text("only over https").first.wait_for()
            others(page)


def test_save_reload_forget_and_open(server):  # noqa: F811
    with opened(f"{server}/microphone") as page:
        others(page)
        ready(page, "3 of each word", "Every word has enough takes")
        page.wait_for_url("**session=*")
        page.reload()
        settle(page)
        counted(page, "no", 3)
        page.get_by_text("Add or remove a word").click()
        page.get_by_label("New word").fill(HOSTILE)
        page.get_by_label("New word").press("Enter")
        counted(page, HOSTILE, 0)
        page.keyboard.press("Escape")
        others(page)
        clip, rate = sample_clip("stop", 0)
        files = page.locator("[data-testid=stMain] [data-testid=stFileUploaderDropzoneInput]")
        files.set_input_files({"name": "stop.wav", "mimeType": "audio/wav", "buffer": wav(clip, rate)})
        counted(page, HOSTILE, 1)
        page.get_by_role("button", name=f"Play take 1 of “{HOSTILE}”").wait_for()
        page.get_by_text("Save and export").click()
        with page.expect_download() as download:
            page.get_by_role("button", name="Session", exact=True).click()
        saved = download.value.path().read_bytes()
        assert LiveSession.open(saved).counts() == {"yes": 3, "no": 3, "up": 3, HOSTILE: 1}
        page.get_by_role("button", name="Forget my recordings").click()
        page.get_by_text("have been removed").first.wait_for()
        page.wait_for_function("() => !location.search.includes('session')")
        opener = page.locator("[data-testid=stSidebar] [data-testid=stFileUploaderDropzoneInput]")
        opener.set_input_files({"name": "cut.zip", "mimeType": "application/zip", "buffer": saved[:-500]})
        page.locator("[data-testid=stSidebar] [data-testid=stAlert]", has_text="cut.zip").wait_for()
        opener.set_input_files({"name": "mine.zip", "mimeType": "application/zip", "buffer": saved})
        counted(page, "up", 3)
        counted(page, HOSTILE, 1)
        assert page.evaluate("window.bad") is None
        assert page.locator("img[src=x]").count() == 0


def test_a_click_before_the_browser_has_the_address_of_an_opened_session_loses_nothing(server):  # noqa: F811
    held: list[Any] = []
    holding = {"now": False}

    def through(socket: Any) -> None:
        real = socket.connect_to_server()
        real.on_message(lambda message: held.append((socket, message)) if holding["now"] else socket.send(message))

    def before(page: Any) -> None:
        page.route_web_socket("**/_stcore/stream", through)
        page.route("**/upload_file/**", uploaded)

    def uploaded(route: Any) -> None:
        holding["now"] = True  # from here on the browser hears nothing
        route.continue_()

    session = LiveSession(("left", "right"))
    session.teach("left", open_take(sample_clip("left", 0)))
    with opened(f"{server}/microphone", before=before) as page:
        others(page)
        ready(page, "yes", "yes · 1")
        page.wait_for_url("**session=*")
        address = page.url
        page.get_by_text("Save and export").click()
        files = page.locator("[data-testid=stSidebar] [data-testid=stFileUploaderDropzoneInput]")
        files.set_input_files({"name": "mine.zip", "mimeType": "application/zip", "buffer": session.save()})
        for _ in range(WAIT // 50):
            if any(b"session=" in message for _, message in held):
                break
            page.wait_for_timeout(50)
        assert held, "the server has opened nothing"
        page.get_by_role("radio", name="2 Say").click()
        while held:  # in order: more may arrive meanwhile
            socket, message = held.pop(0)
            socket.send(message)
        holding["now"] = False
        page.wait_for_function("old => location.href !== old", arg=address)
        settle(page)
        expect(page.get_by_role("radio", name="2 Say")).to_be_checked(timeout=WAIT)
        page.get_by_role("radio", name="1 Teach").click()
        counted(page, "left", 1)


LINKS = ("https://x.example/a", "www.x.example", "mail@x.example", "HTTP://X.EXAMPLE")
SHOWING = """
import streamlit as st
from pages.shell.url_widgets import as_text, show_fault
st.title("Words")
for word in {links!r}:
    text = as_text(word)
    st.markdown(f"it was “{{text}}”")
    st.markdown(text)
    st.subheader(text)
    st.caption(f"({{text}})")
    st.button(text, key=word)
    st.metric(text, text)
    st.progress(0.5, text=f"{{text}} 50%")
    st.toast(text, duration="infinite")
    st.expander(text)
    show_fault(word)
st.pills("Words", {links!r}, format_func=lambda word: f"{{as_text(word)}} · **3**")
st.segmented_control("Words too", {links!r}, format_func=as_text)
"""


def links(page: Any) -> list[str]:
    """Links created from a word; headings have an anchor of their own."""
    return page.locator("a[href*=example i]:not([href^='#'])").evaluate_all("found => found.map(a => a.outerHTML)")


def test_a_word_is_never_a_link_wherever_it_is_shown(tmp_path):
    script = tmp_path / "words.py"
    script.write_text(SHOWING.format(links=LINKS))
    with serve(script) as address, chromium() as running:
        page = running.new_page(viewport={"width": 1280, "height": 720})
        page.goto(address)
        page.get_by_role("radiogroup", name="Words too").wait_for()
        settle(page)
        shown = page.locator("body").inner_text().replace("\u2060", "")
        assert all(shown.count(word) >= 10 for word in LINKS), "nothing is seen of the escapes"
        assert links(page) == []


def test_words_that_look_like_addresses_are_words(server):  # noqa: F811
    session = LiveSession(LINKS)
    spoken = ("yes", "no", "up", "down")
    for number in range(2):
        for word, clip in zip(LINKS, spoken, strict=True):
            session.teach(word, open_take(sample_clip(clip, number)))
    for word, clip in zip(LINKS, spoken, strict=True):
        session.judge(session.say(open_take(sample_clip(clip, 5))).id, word)
    session.begin_drift("class-change", old=LINKS[0], new="www.other.example")
    session.say(open_take(sample_clip("yes", 7)))
    with opened(f"{server}/microphone") as page:
        page.get_by_text("Save and export").click()
        files = page.locator("[data-testid=stSidebar] [data-testid=stFileUploaderDropzoneInput]")
        files.set_input_files({"name": "www.x.example.zip", "mimeType": "application/zip", "buffer": session.save()})
        page.wait_for_url("**session=*")
        settle(page)
        for step in ("3 Change", "2 Say", "1 Teach"):
            page.get_by_role("radio", name=step).click()
            settle(page)
            page.get_by_text("x.example").first.wait_for(state="attached")
            assert links(page) == [], step


# ---------------------------------------------------------------- what is in view


def swapped() -> bytes:
    """A session in the middle of a swap, after the alarms, with an answer on which the learners disagree."""
    session, number = LiveSession(("yes", "no", "up")), 0
    meaning = {"yes": "no", "no": "yes", "up": "up"}
    for turn in range(40):
        word = session.words[turn % 3]
        clip = open_take(sample_clip(word, number))
        number += 1
        if turn < 3:
            session.teach(word, clip)
            continue
        answer = session.say(clip)
        if turn == 18:
            session.judge(answer.id, word)
            session.begin_drift("swap", first="yes", second="no")
            continue
        if turn > 30 and len({ballot.prediction for ballot in answer.ballots.values()}) > 1:
            break
        session.judge(answer.id, word if turn < 18 else meaning[word])
    assert session.pending() is not None, "the learners agree on everything"
    return session.save()


def box(page: Any, selector: str) -> dict[str, float]:
    found = page.locator(selector).first.bounding_box()
    assert found is not None, selector
    return found


@pytest.mark.parametrize(("width", "height"), [(1440, 900), (1280, 720), (390, 844)])
def test_alarm_answer_and_curves_are_in_view(server, width, height):  # noqa: F811
    with chromium() as running:
        page = running.new_page(viewport={"width": width, "height": height})
        page.set_default_timeout(WAIT)
        page.goto(f"{server}/microphone")
        settle(page)
        page.wait_for_selector(".recorder")
        if width < 700:
            page.get_by_test_id("stExpandSidebarButton").click()
        page.get_by_text("Save and export").click()
        files = page.locator("[data-testid=stSidebar] [data-testid=stFileUploaderDropzoneInput]")
        files.set_input_files({"name": "swap.zip", "mimeType": "application/zip", "buffer": swapped()})
        page.locator(".st-key-mic-alarm").wait_for()
        page.locator(".js-plotly-plot").first.wait_for()
        settle(page)
        for selector in (".st-key-mic-alarm", ".recorder", ".st-key-mic-judge"):
            found = box(page, selector)
            assert found["y"] >= 0 and found["y"] + found["height"] <= height, selector
        curves = box(page, ".js-plotly-plot")
        forgotten = box(page, ".gallery")
        if width > 700:
            assert curves["x"] > box(page, ".recorder")["x"] + box(page, ".recorder")["width"], "beside the recorder"
            assert curves["y"] + curves["height"] <= height
            assert forgotten["y"] + 60 <= height, "what was forgotten"
        else:
            assert curves["y"] < 1.15 * height, "under a thumb's reach"
        assert page.evaluate("document.documentElement.scrollWidth") <= width
