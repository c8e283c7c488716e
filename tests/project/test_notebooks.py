"""Notebooks: they run from top to bottom with their answers, and their statements match their outputs."""

from __future__ import annotations

import ast
import copy
import re
import sys
from pathlib import Path

import nbformat
import pytest

FOLDER = Path(__file__).resolve().parents[2] / "notebooks"
sys.path.insert(0, str(FOLDER))

from refresh import NOTEBOOKS, execute, tidy  # noqa: E402

from tmlcd_core.paper.findings import shipped_findings  # noqa: E402

MOST_BYTES = 400_000
ABSOLUTE = re.compile(r"(?<![\w.])/(?:home|root|tmp|usr|var|opt|mnt|work|Users)/|[A-Z]:\\")
ANSWER = re.compile(r"<details><summary>Answer</summary>\n(.*?)\n</details>", re.DOTALL)
CODE = re.compile(r"```python\n(.*?)```", re.DOTALL)
BOLD_NUMBER = re.compile(r"\*\*(\d[\d.,]*)\*\*")

# What the text says beyond bold numbers, true with few runs as well; evaluated after the notebook and its answer.
CLAIMS = {
    1: [
        "(by_hand == model.predict(X)).all()",
        "by_class.loc['A', 'before'] - by_class.loc['A', 'after'] > 0.7",
        "(by_class.after - by_class.before)[['B', 'C']].abs().max() < 0.05",
        "(model.predict(X[change:][y[change:] == 'A']) == 'B').mean() > 0.9",
        "late.iloc[1, 0] - late.iloc[0, 0] > 0.2",  # A moves: storing everything helps
        "late.iloc[3, 0] < 0.5",  # swapped: it hardly does
        "0.05 < said[:middle].mean() - said[middle:].mean() < before - after",
        "recovered[100] > 0.8 and recovered[100] > recovered[300] > recovered[900] < 0.5",
    ],
    2: [
        "np.array_equal(H, condense(points, names))",
        "small.score(points[outside], names[outside]) == 1 > small.score(points[H], names[H])",
        "min(sizes) < max(sizes)",
        "everything.memory_bytes() > condensed.memory_bytes() > 98_304",
        "abs(np.mean(losses)) < 0.02",
        "answer[1][0] < answer['sqrt'][0] and answer[1][1] - answer[1][2] > 0.02",
    ],
    3: [
        "np.allclose(evidence['Eq. 4'], evidence['normal densities'])",
        "(evidence['Eq. 4'] > evidence['binomial, exact']).all()",
        "max(g[:18]) < 25 <= g[19] and (np.diff(g[18:]) > 0).all()",
        "np.allclose(recursion, g)",
        "state.starts[state.best[0]] == change",
        "all(a > b for a, b in zip(needed.values(), list(needed.values())[1:]))",
        "bought['down']['h'] < bought['both']['h'] and bought['down']['delay'] < bought['both']['delay']",
    ],
    4: [
        "(said == trace.predictions).all() and sizes == trace.sizes.tolist()",
        "[one.trace.detections.tolist() for one in swap.run_stream(stream).learners.values()] == [[], [949], [949]]",
        "(calm := replace(swap, settings={'threshold': 200.0}).run_stream(stream).learners)",
        "calm['active'].trace.detections[0] > 949 and len(calm['hybrid'].trace.detections) == 0",
        "(after := {n: one['accuracy_after'].mean for n, one in summary(changed).items()})['cit'] > after['hybrid']",
        "after['hybrid'] > after['active']",
        "summary(changed)['active']['largest_size'].mean < summary(changed)['hybrid']['largest_size'].mean",
        "(after := {n: one['accuracy_after'].mean for n, one in summary(swapped).items()})['hybrid'] > after['active']",
        "after['hybrid'] > after['cit'] and after['active'] < after['cit'] + 0.02",
        "(back := {n: one['recovery'].mean for n, one in summary(swapped).items()})['hybrid'] < back['active']",
        "back['active'] < back['cit']",
        "changed[0].scenario.length == 2 * changed[0].scenario.changes[0] == 3000",
        "swapped[0].scenario.length == 2 * swapped[0].scenario.changes[0] == 1500",
        "min(cost.values()) > 0.03",
    ],
    5: [
        "'lamp/broken.wav' in recordings.skipped",
        "all(isinstance(d, ChangeDetector) for d in detectors.values() if d is not None)",
        "results.delay.unstack().loc['active'].idxmin() == 'my own'",
        "results['accuracy after']['active']['CUSUM'] > results['accuracy after']['active']['my own'] + 0.2",
        "results['accuracy after']['active']['ADWIN'] > results['accuracy after']['active']['my own'] + 0.2",
        "20 < results.loc[('active', 'ADWIN'), 'samples since'] < 60",
        "results['accuracy after'].unstack().loc['hybrid'].std() < 0.02",
        "change <= mine.detections[0] < traces['CUSUM'].detections[0]",
    ],
    6: [
        "counts.sum() == len(claims) == len(found['claims'])",
        "counts['holds'] == found['counts']['printed']['holds']",
        "shipped_findings(shipped)[0].title.endswith('are reproduced in both columns')",
        "shipped_findings(shipped)[1].title.startswith('NN-FC1 stays at chance as printed and learns')",
        "'The bound on |T| is the reason' in shipped_findings(shipped)[2].text",
        "(compared['accuracy here'] == compared['accuracy shipped']).all()",
        "(compared['|T| here'] == compared['|T| shipped']).all()",
        "len(on_images) == 2",
        "set(some) - set(failed.claim) == {'active-recovers'}",
        "claims.set_index('claim').verdict_printed['active-recovers'] == 'too close to call'",
    ],
    7: [
        "paper.total == 370_744",
        "[fit.fits for fit in what_fits(FirmwareConfiguration())] == [True, True, False]",
        "fits[-1].largest == 90",
        "(said == trace.predictions).all()",
        "[step.size for step in steps] == trace.sizes.tolist()",
        "[step.time - 1 for step in steps if step.alarm] == trace.detections.tolist()",
        "np.abs(in_c - in_python).max() < 1 / firmware.scale",
        "largest['4,410 Hz, streamed, 8 bits'] > 4 * largest['22,050 Hz, streamed, 8 bits']",
    ],
    8: [
        "here.loc[5, 'Hybrid'] > here.loc[5, 'CIT, bounded'] + 0.03",
        "here.loc[2, 'perfect alarm'] < here.loc[2, 'CIT, bounded'] + 0.03",
        "(one_class['alarm'].abs() < 0.5 * one_class['bound'].abs()).all()",
        "(one_class['perfect alarm'] < 0).all()",
        "(all_classes['perfect alarm'] > 0).all()",
        "pays_from(study.of('rotated')) < pays_from(study.of('replaced')) <= 1",
        "(costs.speech.dropna().diff().dropna() < 0).all()",
    ],
    9: [
        "(first.bytes <= swap.max_bytes).all() and first.accuracy.idxmax() == 'tandem'",
        "all(in_bytes[name] > first.accuracy[name] for name in in_bytes)",
        "soon['tandem'] > soon.drop('tandem').max() + 0.05",
        "table('speech', '50').accuracy.astype(float).idxmax() == 'Tandem'",
        "set(lost.data) == {'points'} and (lost.budget == '100·λ').all()",
        "set(lost.learner) == {'Sliding window', 'SAM-kNN'}",
        "answer['tandem'].max() - answer['tandem'].min() < answer['window'].max() - answer['window'].min()",
    ],
}

each = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)


def read(path):
    return nbformat.read(path, as_version=4)


def cells(notebook, kind):
    return [cell for cell in notebook.cells if cell.cell_type == kind]


def text_outputs(notebook):
    """All that cells print, without pictures."""
    found = [output for cell in cells(notebook, "code") for output in cell.outputs]
    return [o.text if o.output_type == "stream" else o.data.get("text/plain", "") for o in found]


def answer_of(notebook):
    (text,) = [match for cell in cells(notebook, "markdown") for match in ANSWER.findall(cell.source)]
    (code,) = CODE.findall(text)
    return code


def test_there_are_nine():
    assert [int(path.name[0]) for path in NOTEBOOKS] == list(CLAIMS) == list(range(1, 10))


@each
def test_it_runs_with_its_answer_and_its_claims_hold(path, monkeypatch):
    monkeypatch.setenv("TMLCD_FAST", "1")
    notebook = read(path)
    checks = "\n".join(f"assert {claim}, {claim!r}" for claim in CLAIMS[int(path.name[0])])
    notebook.cells += [nbformat.v4.new_code_cell(code) for code in (answer_of(notebook), checks)]
    execute(notebook)
    assert notebook.cells[-2].outputs, "the answer shows nothing"


def test_notebook_6_stores_the_findings_of_the_data():
    printed = " ".join("\n".join(text_outputs(read(NOTEBOOKS[5]))).split())
    for one in shipped_findings():
        assert f"{one.title}. {one.text}" in printed, "run python notebooks/refresh.py 6"


@each
def test_no_loop_takes_a_name_that_a_cell_has_set_so_that_a_cell_run_again_shows_the_same(path):
    statements = [s for cell in cells(read(path), "code") for s in ast.parse(re.sub("^%.*", "", cell.source)).body]
    kept = {n.id for s in statements if isinstance(s, ast.Assign) for t in s.targets for n in ast.walk(t) if is_name(n)}
    loops = {n.id for s in statements if isinstance(s, ast.For) for n in ast.walk(s.target) if is_name(n)}
    assert not kept & loops


def is_name(node):
    return isinstance(node, ast.Name)


def test_text_that_a_slow_kernel_has_flushed_in_pieces_is_stored_in_one():
    cell = nbformat.v4.new_code_cell("print(94, 'candidates')")
    cell.outputs = [nbformat.v4.new_output("stream", text=piece) for piece in ("94", " candidates\n")]
    cell.outputs += [nbformat.v4.new_output("stream", name="stderr", text="warning")]
    [found] = tidy(nbformat.v4.new_notebook(cells=[cell])).cells
    assert [(output.name, output.text) for output in found.outputs] == [
        ("stdout", "94 candidates\n"),
        ("stderr", "warning"),
    ]


@pytest.mark.slow
@each
def test_what_is_stored_is_what_it_shows(path):
    notebook = read(path)
    stored = text_outputs(notebook)
    assert text_outputs(execute(copy.deepcopy(notebook))) == stored


@each
def test_it_opens_with_its_question_and_has_one_exercise(path):
    notebook = read(path)
    texts = [cell.source for cell in cells(notebook, "markdown")]
    assert texts[0].startswith(f"# {path.name[0]} · ")
    assert "**The question.**" in texts[0]
    assert sum("## Exercise" in text for text in texts) == 1
    assert answer_of(notebook)
    for target in re.findall(r"\]\(([^)]+)\)", "\n".join(texts)):
        assert (FOLDER / target).exists(), target


@each
def test_the_stored_file_is_small_and_tidy(path):
    assert path.stat().st_size < MOST_BYTES
    notebook = read(path)
    assert tidy(copy.deepcopy(notebook)) == notebook
    code = cells(notebook, "code")
    assert [cell.execution_count for cell in code] == list(range(1, len(code) + 1))
    for cell in code:
        for output in cell.outputs:
            assert output.output_type != "error"
            assert output.get("name") != "stderr", output.text
            assert "execution" not in cell.metadata
    shown = "\n".join(text_outputs(notebook)) + "\n".join(cell.source for cell in notebook.cells)
    assert not ABSOLUTE.search(shown)
    assert not re.search(r"<script|https?://", str([cell.outputs for cell in code]))  # shows without a network


@each
def test_a_bold_number_in_the_text_is_one_that_a_cell_has_printed(path):
    notebook = read(path)
    printed = {number.replace(",", "") for number in re.findall(r"\d[\d.,]*\d|\d", "\n".join(text_outputs(notebook)))}
    for cell in cells(notebook, "markdown"):
        for number in BOLD_NUMBER.findall(cell.source):
            assert number.replace(",", "") in printed, f"the text says {number}: {cell.source[:80]}"
