import pytest

from brim import Section, SourceError, fit
from brim.receipts.receipt import read_receipt

RECEIPT = fit([Section("rules", "be brief", priority="required")], 60, meter="chars", capture=True).receipt


def test_a_receipt_comes_back_as_it_was_written(tmp_path):
    path = tmp_path / "r.json"
    path.write_text(RECEIPT.to_json())
    assert read_receipt(str(path)).to_json() == RECEIPT.to_json()


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "not a receipt"),
        ("[1, 2", "not a receipt"),
        ("[" * 100_000, "not a receipt"),
        ("12", "not a receipt: receipt must be the JSON object"),
        ("{}", "not a receipt"),
        ('{"version": 99}', "receipt version must be 1, which this release of brim reads, not 99"),
        ('{"version": 1}', "not a receipt: receipt must be an object with budget"),
        (RECEIPT.to_json().replace('"used": 8', '"used": -8', 1), "not a receipt: receipt.used must be at least 0"),
    ],
    ids=["nothing", "broken", "deep", "a number", "an object", "a later version", "nothing but a version", "negative"],
)
def test_what_is_no_receipt_is_refused(tmp_path, text, told):
    path = tmp_path / "r.json"
    path.write_text(text)
    with pytest.raises(SourceError) as caught:
        read_receipt(str(path))
    assert told in str(caught.value)
    assert str(path) in str(caught.value)
