from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from pumice.kernel import moves
from pumice.kernel.db.engine import Database
from pumice.kernel.errors import BadRequest, Conflict, NotFound
from pumice.kernel.moves import End, Guard, Superseded
from tests.kernel.things import PAINT, Thing, add_thing, database, thing_of


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    made = database(tmp_path)
    yield made
    made.close()


def test_a_move_sets_status_owner_and_values_in_one_statement(db: Database) -> None:
    thing = add_thing(db)
    row = db.write(lambda tx: moves.begin(tx, Thing, thing, PAINT, operation_id="op", colour="red"))
    assert (row.status, row.previous_status, row.operation_id, row.colour) == ("painting", "plain", "op", "red")
    assert row.version == 1


def test_a_status_that_is_not_listed_refuses_and_changes_nothing(db: Database) -> None:
    thing = add_thing(db, status="broken")
    with pytest.raises(BadRequest, match="has status broken: paint is allowed only in status plain"):
        db.write(lambda tx: moves.begin(tx, Thing, thing, PAINT, operation_id="op"))
    row = thing_of(db, thing)
    assert row is not None
    assert (row.status, row.version, row.operation_id) == ("broken", 0, None)


def test_a_row_that_is_gone_is_not_found(db: Database) -> None:
    with pytest.raises(NotFound):
        db.write(lambda tx: moves.begin(tx, Thing, "nowhere", PAINT, operation_id="op"))


def test_a_guard_refuses_with_its_own_words_and_status(db: Database) -> None:
    thing = add_thing(db, parts=2)
    guards = [Guard(Thing.parts == 2, "never said"), Guard(Thing.parts == 0, "it has parts", Conflict)]
    with pytest.raises(Conflict, match="it has parts"):
        db.write(lambda tx: moves.begin(tx, Thing, thing, PAINT, operation_id="op", guards=guards))


def test_a_move_that_is_over_at_once_ends_in_its_last_status(db: Database) -> None:
    thing = add_thing(db)
    row = db.write(lambda tx: moves.begin(tx, Thing, thing, PAINT, operation_id=None))
    assert (row.status, row.operation_id) == ("painted", None)


def test_only_the_owner_ends_a_move(db: Database) -> None:
    thing = add_thing(db)
    db.write(lambda tx: moves.begin(tx, Thing, thing, PAINT, operation_id="op"))
    with pytest.raises(Superseded):
        db.write(lambda tx: moves.end(tx, Thing, thing, "painted", operation_id="another"))
    db.write(lambda tx: moves.end(tx, Thing, thing, End.PREVIOUS, operation_id="op", colour="blue"))
    row = thing_of(db, thing)
    assert row is not None
    assert (row.status, row.colour, row.operation_id) == ("plain", "blue", None)
    with pytest.raises(Superseded):
        db.write(lambda tx: moves.end(tx, Thing, thing, "painted", operation_id="op"))


def test_a_move_may_end_with_the_row_gone(db: Database) -> None:
    thing = add_thing(db)
    db.write(lambda tx: moves.begin(tx, Thing, thing, PAINT, operation_id="op"))
    db.write(lambda tx: moves.end(tx, Thing, thing, End.GONE, operation_id="op"))
    assert thing_of(db, thing) is None


def test_of_many_at_once_exactly_one_begins(db: Database) -> None:
    thing = add_thing(db)
    won: list[str] = []
    refused: list[str] = []

    def begin(name: str) -> None:
        try:
            db.write(lambda tx: moves.begin(tx, Thing, thing, PAINT, operation_id=name))
        except BadRequest as error:
            refused.append(error.message)
        else:
            won.append(name)

    threads = [threading.Thread(target=begin, args=(f"op{n}",)) for n in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(won) == 1
    assert len(refused) == 19
    row = thing_of(db, thing)
    assert row is not None
    assert row.operation_id == won[0]


def test_touch_grows_the_version_and_asks_its_guards(db: Database) -> None:
    thing = add_thing(db)
    row = db.write(lambda tx: moves.touch(tx, Thing, thing, colour="green"))
    assert (row.version, row.colour, row.status) == (1, "green", "plain")
    with pytest.raises(BadRequest, match="not now"):
        db.write(lambda tx: moves.touch(tx, Thing, thing, guards=[Guard(Thing.colour == "red", "not now")]))
