from brim.cli.count import drawn, grown

COUNTS = {"src/a/one.py": 50, "src/a/two.py": 9, "src/b/three.py": 40, "src/b/x.py": 2, "src/b/y.py": 1, "src/z.py": 3}


def lines(threshold=0):
    return list(drawn(grown(COUNTS), threshold))


def test_the_biggest_come_first():
    assert lines() == [
        ("├── a/", 59),
        ("│   ├── one.py", 50),
        ("│   └── two.py", 9),
        ("├── b/", 43),
        ("│   ├── three.py", 40),
        ("│   ├── x.py", 2),
        ("│   └── y.py", 1),
        ("└── z.py", 3),
    ]


def test_those_below_the_threshold_are_one_line():
    assert lines(10) == [
        ("├── a/", 59),
        ("│   ├── one.py", 50),
        ("│   └── … 1 more", 9),
        ("├── b/", 43),
        ("│   ├── three.py", 40),
        ("│   └── … 2 more", 3),
        ("└── … 1 more", 3),
    ]
    assert lines(55) == [("├── a/", 59), ("└── … 4 more", 46)]
    assert lines(1000) == [("└── … 6 more", 105)]


def test_a_directory_in_a_directory_is_one_name():
    top = grown({"a/b/c/one.py": 1, "a/b/c/two.py": 2})
    assert (top.name, top.count, top.files) == ("a/b/c", 3, 2)
