"""Formulas in running text: what is one, what stays prose, and that nothing is lost."""

import re
from html import unescape
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reproduction.planning.paper import papers
from reproduction.report.notation import typeset


def formulas(text):
    """Return the formulas of a text in plain notation, long ones in their pieces."""
    return [unescape(found) for found in re.findall(r'<math alttext="([^"]*)">', typeset(text))]


def plain(text):
    """Return what a text was before it was set."""
    return unescape(re.sub(r'</?span[^>]*>|<math alttext="([^"]*)">.*?</math>', r"\1", str(typeset(text))))


def xml(text):
    """Return the elements of a text that is one formula, without those that only group."""
    (found,) = re.findall(r"<math [^>]*>(.*)</math>", str(typeset(text)))
    return re.sub(r"</?mrow>|<mspace[^>]*>| (form|stretchy|lspace|rspace)=\"\w*\"", "", found)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("all ratios within its columns are 1 or e^ε.", ["e^ε"]),
        ("For every pair P0, P1 there is an ε* > 0 below which", ["P0", "P1", "ε* > 0"]),
        ("at k = 6, 55% at k = 12; M + 1 outputs", ["k = 6", "k = 12", "M + 1"]),
        ("is zero if and only if D ≥ D^(M-1).", ["D ≥ D^(M-1)"]),
        ("With the best w_0 instead of (1/2, 1/2) W' has 96.3%", ["w_0", "(1/2, 1/2)", "W'"]),
        ("up to 0.5% of min H; within 1e-9 nats; 2 x 2 channels", ["min H", "1e-9", "2 x 2"]),
        ("every f-divergence, every (ε, δ)-private mechanism", ["f", "(ε, δ)"]),
        ("max{0.6107, 0.3061} + ... is printed", ["max{0.6107, 0.3061}", " + ..."]),
        ("At large ε: H(X) - (k - 1) ε e^-ε + O(e^-2ε)", ["ε", "H(X)", " - (k - 1) ε e^-ε", " + O(e^-2ε)"]),
    ],
)
def test_formulas_are_found(text, expected):
    assert formulas(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "What L-S81b and K-C16 ask, see Figure 9b, (23) and Theorem 2",
        "13(4), 1058-1071, 2018; 0.00376 / 0.549 / 4.64",
        "leakage grows from II to III a, b, c, over Class I",
        "A minimum over an order. row(s), e.g. 5% to 10%, NR's quantile",
        "{(.6, .3, .1), (.1, .6, .3)} and non-robust E-IT",
    ],
)
def test_prose_stays_prose(text):
    assert formulas(text) == []
    assert plain(text) == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("p_ki", "<msub><mi>p</mi><mi>k</mi><mi>i</mi></msub>"),
        ("D_kl", "<msub><mi>D</mi><mi>kl</mi></msub>"),
        ("1.8e-15", "<mn>1.8</mn><mo>×</mo><msup><mn>10</mn><mo>−</mo><mn>15</mn></msup>"),
        (
            "tanh²(ε/2)",
            "<msup><mi>tanh</mi><mn>2</mn></msup><mo>(</mo><mi>ε</mi><mo>/</mo><mn>2</mn><mo>)</mo>",
        ),
        (
            "(ε - 1)/(ε + 1)",
            "<mfrac><mi>ε</mi><mo>−</mo><mn>1</mn><mi>ε</mi><mo>+</mo><mn>1</mn></mfrac>",
        ),
        ("0.0e+00", "<mn>0.0</mn>"),
        ("sqrt(w_0)", "<msqrt><msub><mi>w</mi><mn>0</mn></msub></msqrt>"),
        ("e^(-2 ε)", "<msup><mi>e</mi><mo>−</mo><mn>2</mn><mi>ε</mi></msup>"),
        ("‖A_i‖²", "<msup><mo>‖</mo><msub><mi>A</mi><mi>i</mi></msub><mo>‖</mo><mn>2</mn></msup>"),
    ],
)
def test_what_a_formula_is_made_of(text, expected):
    assert xml(text) == expected


def test_punctuation_stays_on_the_line_of_its_formula():
    assert re.search(r'<span class="nb"><math .*</math>\.</span>$', str(typeset("It is e^ε.")))
    assert str(typeset("ε-private")).endswith("</math>-private</span>")


def test_text_is_escaped():
    assert str(typeset('<b> & "x"')) == "&lt;b&gt; &amp; &quot;x&quot;"
    assert 'alttext="0 &lt; ε"' in typeset("0 < ε")


def test_every_text_of_the_papers_is_there_as_it_was():
    texts = []
    for paper in papers().values():
        texts += [str(value) for entry in (*paper.claims, *paper.errata) for value in entry.values()]
        texts += [figure.caption for figure in paper.figures.values()]
    assert len(texts) > 300
    for text in texts:
        assert plain(text) == text
        ElementTree.fromstring(f"<p>{typeset(text)}</p>")
    assert sum(bool(formulas(text)) for text in texts) > 100


@given(st.text("abkxPεΣ123 .,;|‖^_*'()[]{}/+-=<&\"e", max_size=30))
@settings(max_examples=300, deadline=None)
def test_nothing_is_lost_or_broken_whatever_the_text(text):
    assert plain(text) == text
    ElementTree.fromstring(f"<p>{typeset(text)}</p>")
