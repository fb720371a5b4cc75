"""Which names are names: what scripts and pictures need is taken, what hides, turns or looks like another is not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.api.names import MOST_MARKS, fault_of

E_ACUTE = "e\u0301"
GOOD = {
    "none": "",
    "plain": "Ann-Marie O'Neil 2nd",
    "accents of either form": f"Zo\u00eb Ren{E_ACUTE}",
    "Vietnamese": "Nguye\u0302\u0303n",
    "Hebrew with vowels": "\u05e9\u05c1\u05b8\u05dc\u05d5\u05b9\u05dd",
    "Arabic with vowels": "\u0645\u064f\u062d\u064e\u0645\u0651\u064e\u062f",
    "Persian": "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",
    "Hindi": "\u0915\u094d\u200d\u0937",
    "Burmese": "\u1019\u103c\u103d\u103e\u1031\u1038",
    "Japanese": "\u5c71\u7530\u3000\u592a\u90ce \u9089\U000e0100",
    "pictures": "\u2764\ufe0f \u203c\ufe0f \u2122\ufe0f \u2139\ufe0f \u260e\ufe0e",
    "a key": "#\ufe0f\u20e3 1\ufe0f\u20e3",
    "a family": "\U0001f469\u200d\u2764\ufe0f\u200d\U0001f469",
    "a profession": "\U0001f9d1\U0001f3fd\u200d\U0001f680",
    "flags": "\U0001f1e9\U0001f1ea \U0001f3f3\ufe0f\u200d\U0001f308",
    "the flag of England": "\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",
    "as many accents as there may be": "a" + "\u0301" * MOST_MARKS + "a\u0301",
}
UNSEEN = {
    "a line's end": "a\nb",
    "a control": "\x9b2J",
    "a blank of no width": "Ann\u200b",
    "a mark of the order of bytes": "\ufeff",
    "turned about": "\u202enna",
    "set apart": "\u2066Ann\u2069",
    "of a direction": "Ann\u200f",
    "a line": "Ann\u2028",
    "a paragraph": "Ann\u2029",
    "a soft hyphen": "An\u00adn",
    "joined letters": "A\u200dnn",
    "letters kept apart": "A\u200cnn",
    "a joiner at the end": "\U0001f469\u200d",
    "a letter's form": "A\ufe0fnn",
    "a digit's form": "1\ufe0f",
    "a plus's form": "+\ufe0f",
    "a letter's other form": "A\U000e0100",
    "a flag without an end": "\U0001f3f4\U000e0067",
    "a tag without a flag": "A\U000e0067\U000e007f",
    "a filler": "\u3164",
    "a pattern without dots": "\u2800",
    "a joiner of accents": "A\u034fnn",
    "of a font's own": "\ue000",
    "half a pair": "\ud800",
    "no character at all": "\ufdd0",
}


@pytest.mark.parametrize("name", GOOD.values(), ids=GOOD.keys())
def test_names_of_all_scripts_are_taken(name: str) -> None:
    """A name may have what its script, or a picture in it, is written with."""
    assert fault_of(name) is None


@pytest.mark.parametrize("name", UNSEEN.values(), ids=UNSEEN.keys())
def test_what_is_not_seen_is_refused(name: str) -> None:
    """A name has nothing that hides, turns the text about or breaks its line; the fault names the character."""
    fault = fault_of(name)
    assert fault is not None
    assert any(fault.endswith(f": U+{ord(char):04X}") for char in name)


@pytest.mark.parametrize("name", [" ", "\u00a0", "\u3000 \u2003"])
def test_a_name_is_not_blank(name: str) -> None:
    """Blanks alone are no name, however wide they are."""
    assert fault_of(name) == "must have something to be seen"


@pytest.mark.parametrize("name", ["\u0301" * 40, "\u0301a", "a \u0301", "\u20e3"])
def test_an_accent_has_a_letter(name: str) -> None:
    """An accent at the beginning, or after a blank, would stand on what is not the name's."""
    assert "accent without a letter" in str(fault_of(name))


def test_a_letter_has_few_accents() -> None:
    """More accents on one letter than a script needs would cover the lines above and below."""
    assert f"at most {MOST_MARKS} accents" in str(fault_of("a" + "\u0301" * (MOST_MARKS + 1)))


@given(st.text(max_size=40))
def test_every_text_is_judged(name: str) -> None:
    """Whatever the text, it is a name or has a fault in words; and what is taken shows something, on one line."""
    fault = fault_of(name)
    if fault is None and name:
        assert name.strip()
        assert len(name.splitlines()) == 1
    elif fault is not None:
        assert fault.startswith("must have")
