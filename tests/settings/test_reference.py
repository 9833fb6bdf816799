from checkout import script


def test_the_page_of_settings_is_what_the_table_says():
    reference = script("config_reference")
    told = "python scripts/config_reference.py writes it"
    assert reference.PAGE.read_text(encoding="utf-8") == reference.page(), told
