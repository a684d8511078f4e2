"""Folders that were published: those of honest vaults pass, whatever their shape; one that somebody wrote and sealed
anew is found, whichever of its numbers and words are not those of the journal."""

import json
import shutil
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from discreet.audit.report import audit_vault
from discreet.cube.cube import Cube
from discreet.cube.folder import write_cube
from discreet.ledger.standing import Standing
from discreet.mining.folder import write_statistics
from discreet.mining.statistics import Statistics
from discreet.release.package import PACKAGE, file_hash, write_package
from discreet.vault.vault import Vault
from tests.audit.insider import BUDGETS, QUERIES, Journal, failures, forget_receipts, make

JOBS = np.bincount([i * i % 6 for i in range(400)], minlength=6)


pytestmark = pytest.mark.usefixtures("workplace")


@pytest.fixture
def cube():
    vault = make()
    return vault.cubes.publish(vault.cubes.plan(epsilon="1/2", dimensions=["sex", "job"]))


def only_finding(name="published"):
    [found] = audit_vault("vault")[name].findings
    return found


def seal(path, package):
    """Write a description with hashes that fit."""
    for resource in package["resources"]:
        resource["hash"] = file_hash(path / resource["path"])
    package.pop("sha256", None)
    write_package(path, package)


def described(path):
    return json.loads((path / PACKAGE).read_text())


class TestHonestFolders:
    @pytest.mark.parametrize(
        ("planned", "shape"),
        [
            ({}, {}),
            ({}, {"consistent": False}),
            ({}, {"counts": "whole"}),
            ({}, {"counts": "nonnegative"}),
            ({}, {"norm": "linf"}),
            ({"measure": "sum(income)"}, {}),
            ({"facts": "vault"}, {}),
            ({"cuboids": [["sex"], ["job"]]}, {}),
            ({}, {"estimate": "modelled"}),
            ({"planner": "model", "facts": "vault"}, {"estimate": "modelled"}),
        ],
        ids=str,
    )
    def test_a_cube_of_every_shape_is_what_its_sources_make(self, planned, shape):
        vault = make()
        if planned.get("facts"):
            vault.facts.add(cuboid=["job"], values=JOBS)
        plan = vault.cubes.plan(epsilon="1/2", dimensions=["sex", "job"], **planned)
        vault.cubes.publish(plan, **shape).save("cube")
        assert [finding.what for finding in audit_vault("vault").findings] == []

    def test_a_cube_of_gaussian_noise_with_a_delta(self):
        vault = make(**BUDGETS["approximate"])
        vault.cubes.publish(vault.cubes.plan(mu_squared="1/50", dimensions=["sex", "job"])).save("cube")
        assert not audit_vault("vault").findings

    def test_what_facts_change_later_makes_an_earlier_cube_out_of_date_and_not_false(self, cube):
        cube.save("cube")
        vault = Vault.open("vault")
        vault.facts.add(cuboid=["job"], values=JOBS)
        found = only_finding()
        assert found.outcome == "warning"
        assert "to whoever knows the facts that came later it is ε = 1" in found.what
        assert "publish it again" in found.next
        shutil.rmtree("cube")
        vault.cubes.publish(cube.origin.charge).save("cube")
        assert not audit_vault("vault")["published"].findings


class TestForgedCubes:
    def test_cuboids_that_are_exact_counts_and_sealed_again(self, cube, workplace):
        """The most that an insider could give away: what is published is the truth, and the sources are untouched."""
        truth = {mask: np.round(cells) + 1.0 for mask, cells in cube.cuboids.items()}
        write_cube(replace(cube, cuboids=truth), workplace / "cube")
        assert failures(audit_vault("vault")) == {"published"}
        assert "its cuboids are not what its measured ones make" in only_finding().what

    @pytest.mark.parametrize(
        ("shape", "outcome"), [({"counts": "whole"}, "failed"), ({"norm": "linf"}, "warning")], ids=str
    )
    def test_cuboids_that_are_said_to_be_of_another_shape(self, cube, workplace, shape, outcome):
        """Of several nearest cubes a solver finds one: that another is there is told, and is no proof."""
        off = {mask: np.round(cells) + 9.0 for mask, cells in cube.cuboids.items()}
        write_cube(replace(cube, cuboids=off, **shape), workplace / "cube")
        assert only_finding().outcome == outcome

    @pytest.mark.parametrize("how", ["changed", "dropped"])
    def test_a_model_that_says_something_else(self, cube, workplace, how):
        """Its potentials could carry exact counts out."""
        made = cube.with_model()
        potentials = dict(made.model.potentials)
        last = potentials.pop(max(potentials))
        if how == "changed":
            potentials[max(made.model.potentials)] = last + np.arange(last.size).reshape(last.shape)
        write_cube(replace(made, model=replace(made.model, potentials=potentials)), workplace / "cube")
        assert "its model is not what its measured cuboids make" in only_finding().what

    def test_modelled_cells_that_were_changed_beside_an_honest_model(self, cube, workplace):
        cube.with_model().save("cube")
        path = workplace / "cube" / "modelled.parquet"
        table = pq.read_table(path)
        place = table.schema.get_field_index("modelled")
        pq.write_table(table.set_column(place, "modelled", pc.add(table.column(place), 1.0)), path)
        seal(workplace / "cube", described(workplace / "cube"))
        assert "modelled.parquet" in only_finding().what

    def test_a_plan_with_other_noise(self, cube, workplace):
        other = Vault.open("vault").cubes.plan(epsilon="1/4", dimensions=["sex", "job"])
        write_cube(replace(cube, plan=other), workplace / "cube")
        assert "its plan is not the one that was charged" in only_finding().what

    def test_labels_that_were_exchanged(self, cube, workplace):
        first, *others = cube.dimensions
        write_cube(replace(cube, dimensions=(replace(first, labels=first.labels[::-1]), *others)), workplace / "cube")
        assert "dimensions are not those of the domain" in only_finding().what

    @pytest.mark.parametrize("column", ["sex", "variance", "cuboid"])
    def test_a_column_beside_the_numbers_that_was_changed(self, cube, workplace, column):
        cube.save("cube")
        path = workplace / "cube" / "cuboids.parquet"
        table = pq.read_table(path)
        place = table.schema.get_field_index(column)
        if column == "variance":
            changed = pc.multiply(table.column(column), 0.5)
        else:
            changed = pa.chunked_array([table.column(column).combine_chunks()[::-1]])
        pq.write_table(table.set_column(place, table.schema.field(place), changed), path)
        seal(workplace / "cube", described(workplace / "cube"))
        assert Cube.load("cube")  # it reads as if nothing had happened
        assert "cuboids.parquet has other labels or variances" in only_finding().what

    @pytest.mark.parametrize(
        ("change", "words"),
        [
            (lambda about: about["guarantee"].update(epsilon="1/100"), "its release cost more"),
            (lambda about: about["guarantee"].update(max_rows=7), "its release cost more"),
            (lambda about: about["guarantee"].pop("epsilon"), "is damaged"),
        ],
        ids=["ε", "rows", "nothing"],
    )
    def test_a_guarantee_that_promises_more(self, cube, workplace, change, words):
        cube.save("cube")
        package = described(workplace / "cube")
        change(package["cube"])
        seal(workplace / "cube", package)
        assert words in only_finding().what

    def test_a_delta_that_the_mu_does_not_keep(self, workplace):
        vault = make(**BUDGETS["approximate"])
        vault.cubes.publish(vault.cubes.plan(mu_squared="1/5", dimensions=["sex"])).save("cube")
        package = described(workplace / "cube")
        package["cube"]["guarantee"].update(epsilon="1/100", delta="1/1000000000")
        seal(workplace / "cube", package)
        assert "an ε and a δ that its μ² does not keep" in only_finding().what

    def test_words_that_say_something_else(self, cube, workplace):
        cube.save("cube")
        seal(workplace / "cube", {**described(workplace / "cube"), "description": "exact counts."})
        assert "its title or its description" in only_finding().what
        assert only_finding().outcome == "warning"  # another version may have other words

    def test_a_file_elsewhere_is_not_read(self, cube, workplace):
        cube.save("cube")
        package = described(workplace / "cube")
        package["resources"][0]["path"] = str(workplace / "people.parquet")
        seal(workplace / "cube", package)
        assert "people.parquet is gone, or was changed" in only_finding().what


class TestForgedStatistics:
    CHANGES = (
        (lambda found: {"attributes": found.attributes[::-1]}, "not those that were charged"),
        (lambda found: {"seeds": found.seeds[::-1]}, "not those that were charged"),
        (lambda found: {"trials": 2 * found.trials}, "not those that were charged"),
        (lambda found: {"counts": found.counts + 1}, "not the numbers that the journal has"),
        (lambda found: {"people": found.people + 1}, "another roster"),
        (lambda _: {"guarantee": "differential privacy, ε = 1/100"}, "promises something else"),
    )

    def test_whatever_is_not_the_journal_s(self, workplace):
        """In one vault: how much noise T queries take is worked out for seconds."""
        vault = make(**QUERIES)
        plan = vault.sulq.plan(["old: age > 50", "f: sex = 'F'"], arity=1, subsets=16)
        genuine = vault.sulq.publish(plan)
        for change, words in self.CHANGES:
            write_statistics(replace(genuine, **change(genuine)), workplace / "stat")
            assert Statistics.load(workplace / "stat")
            assert failures(audit_vault("vault")) == {"published"}
            assert words in only_finding().what
            shutil.rmtree("stat")


class TestRowsThatWereTakenBack:
    """What was published in buckets cannot be unsaid: neither by a later entry, nor by leaving the words out."""

    @pytest.fixture
    def vault(self):
        vault = make(**BUDGETS["pure, replace"])
        vault.buckets.publish(sensitive="job", limits="min(1, 3*f + 0.1)", columns=["age", "sex"], out="rows")
        vault.ledger.close()
        return vault

    def test_by_an_entry_that_withdraws_them(self, vault):
        journal = Journal()
        taken_back = {**journal[3], "content": {"state": "withdrawn", "begun": 2}}
        journal.entries.append({"kind": "buckets", "charge": None, "body": taken_back})
        journal.write()
        forget_receipts(vault)
        assert "not differential privacy" in str(Vault.open("vault").ledger.guarantee)
        audit = audit_vault("vault")
        assert failures(audit) == {"chain"}
        assert "entry 4 says that rows were withdrawn" in audit["chain"].findings[0].what
        assert "rows were published" in audit["promise"].findings[0].what

    def test_by_a_vault_that_leaves_out_the_words(self, vault, monkeypatch):
        monkeypatch.setattr(Standing, "_remarks", lambda *_: ())
        audit = audit_vault(vault.path)
        assert failures(audit) == {"guarantees"}
        assert "rows were published in buckets, and the vault's guarantees do not say so" in str(audit.findings)

    def test_of_facts_too(self, monkeypatch):
        make().facts.add(cuboid=["job"], values=JOBS)
        monkeypatch.setattr(Standing, "_facts_in_words", lambda _: "nothing to see here")
        assert failures(audit_vault("vault")) == {"guarantees"}


class TestFoldersOfOthers:
    def test_a_cube_of_a_table_of_the_same_name_that_the_journal_does_not_know(self, cube):
        """It is another vault's over the same people, or this journal has forgotten it."""
        cube.save("cube")
        other = Vault.init("other", table="people.parquet", domain="people.toml", **BUDGETS["pure"])
        found = audit_vault(other)["published"].findings[0]
        assert found.outcome == "warning"
        assert "this journal knows nothing of it" in found.what
        assert "both promises add up" in found.next

    def test_a_folder_that_is_not_there(self):
        make()
        [found] = audit_vault("vault", published=["nowhere"])["published"].findings
        assert found.outcome == "failed"
        assert "give the folder itself" in found.next
