"""What was released is on disk before it is recorded: whatever happens then, the record leads to it."""

import numpy as np

from discreet.release.archive import Archive
from tests.power_cut import power_may_go

LARGE = [np.arange(20_000)]


def test_the_first_release_of_an_archive_survives_a_power_cut(tmp_path):
    with power_may_go(tmp_path) as disk:
        record = Archive(tmp_path / "releases").save(1, LARGE)
    assert disk.keeps(tmp_path / "releases" / record["file"])


def test_each_later_release_survives_a_power_cut(tmp_path):
    archive = Archive(tmp_path / "releases")
    archive.save(1, LARGE)
    with power_may_go(tmp_path / "releases") as disk:
        record = archive.save(2, LARGE)
    assert disk.keeps(tmp_path / "releases" / record["file"])


def test_a_folder_with_the_archive_s_name_is_as_durable_as_the_files_in_it(tmp_path):
    with power_may_go(tmp_path) as disk:
        Archive(tmp_path / "releases").save(1, LARGE)
    assert disk.keeps_name(tmp_path / "releases")
