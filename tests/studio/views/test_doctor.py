"""The facts of the doctor."""


def test_the_doctor_has_facts_about_the_store_the_address_and_the_meters(served):
    facts = {fact["name"]: fact["text"] for fact in served.get("doctor")[1]["facts"]}
    assert facts["size of the store"].endswith("bytes")
    assert "purge" in facts["retention"]
    assert facts["reachable from"] == "this machine only"
    assert "o200k_base" in facts["built-in vocabularies"]
    assert facts["SQLite"][0].isdigit()
    assert "each start" in facts["token"]
