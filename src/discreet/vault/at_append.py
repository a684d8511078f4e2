"""What stands is published again where periods are closed: each reserve's own, and nothing more is spent."""

from typing import TYPE_CHECKING

from discreet.errors import DiscreetError, VaultError

if TYPE_CHECKING:
    from discreet.vault.vault import Vault


def publish_standing(vault: "Vault") -> tuple[str, ...]:
    """Publish all running totals and standing cubes up to the last period that is closed; what was published, in words.

    Raises VaultError where something could not be: the rows are appended all the same.
    """
    if not vault.ledger.reserves:
        return ()
    from discreet.cube.within import Within
    from discreet.vault.running import RUNNING
    from discreet.vault.set_aside import set_aside_for
    from discreet.vault.standing import CUBE

    growing, done = vault.domain.growing, []
    if growing is None:
        return ()  # one of several tables, which does not grow
    for key, what, publish in (
        (RUNNING, "running totals", vault.running.publish),
        (CUBE, "standing cubes", vault.cubes.standing.publish),
    ):
        for one in set_aside_for(key, vault.ledger):
            within = Within(**one.content["within"])
            last = min(growing.cells - 1, within.last)
            if vault.ledger.reserved(one.number) is None or last < within.first:
                continue
            try:
                publish(one.number, through=growing.label(last))
            except DiscreetError as error:
                raise VaultError(
                    f"the rows were appended, and {what} {one.number} could not be published: {error}"
                ) from None
            done.append(f"{what} {one.number} to {growing.label(last)}")
    return tuple(done)
