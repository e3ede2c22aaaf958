"""Football world cups, women's and men's (Fjelstul's database): the margin of a match, the position of a player.

`worldcup_margin`: 1,248 matches, one instance a match (a row a team would put each label's negative beside it).
Target: goals of the team named first less those of the second, without penalty shootouts. Tables: `match`,
`first_team`, `second_team` (confederation, hosts, experience of the squad), `referee`, `managers`. Graphs link
matches in time with the same first team, or the same second team. All that is counted in a match (goals, cards, extra
time, result) is left out.

`worldcup_position`: the 4,190 players of the squads since 2006, goalkeeper, defender, midfielder or forward (in their
last squad). Tables: `squad` (all; shirt number, team, age), and for those who have any `goals`, `bookings` and
`substitutions`. Graphs: `substituted` (one went off when the other came on, the only exchange of that minute: often
alike) and `squad_mates` (a ring of 10 in each squad, seed 501: not alike). Awards (the best goalkeeper's among them)
are out.
"""

from __future__ import annotations

import polars as pl

from datasets.suite._problem import GRAPH, SuiteProblem
from datasets.suite._reading import local, ring_edges
from hetcore.data import HetData

__all__ = ["PROBLEMS"]

SINCE = 2006
POSITIONS = {"GK": "goalkeeper", "DF": "defender", "MF": "midfielder", "FW": "forward"}
SIDES = {"first": "home", "second": "away"}


def _read(name: str) -> pl.DataFrame:
    # All rows decide a column's type, for one may begin with blanks.
    table = pl.read_csv(local("jfjelstul/worldcup", f"data-csv/{name}.csv"), infer_schema_length=None)
    if "tournament_id" not in table.columns:
        return table
    return table.with_columns(year=pl.col("tournament_id").str.slice(3).cast(pl.Int64))


def load_margin() -> HetData:
    """Return the matches as HetData: 1,248 instances, 5 tables, 2 graphs, a number of goals."""
    # By date and then by id, for matches of one day have no order of their own.
    matches = _read("matches").rename({"match_id": "id"}).sort("match_date", "id")
    tables = {"match": _match_table(matches), "referee": _referees(matches), "managers": _managers(matches)}
    tables |= {f"{side}_team": _team_table(matches, prefix) for side, prefix in SIDES.items()}
    ids = matches["id"].to_list()
    graphs = {
        f"{side}_team": ring_edges(ids, matches[f"{prefix}_team_id"].to_list(), 3) for side, prefix in SIDES.items()
    }
    target = matches.select("id", y=pl.col("home_team_score_margin").cast(pl.Float64))
    return HetData(tables, graphs, target, id_column="id", task="regression")


def _match_table(matches: pl.DataFrame) -> pl.DataFrame:
    women = pl.col("tournament_name").str.contains("Women")
    stage = pl.col("stage_name").str.strip_suffix("s")
    return matches.select("id", "year", "knockout_stage", women=women, stage=stage, country="country_name")


def _team_table(matches: pl.DataFrame, prefix: str) -> pl.DataFrame:
    """Return one side's confederation, whether it plays at home, and the age and experience of its squad."""
    teams = _read("teams").select(team_id="team_id", confederation="confederation_code", region="region_name")
    named = {"team_id": f"{prefix}_team_id", "team": f"{prefix}_team_name"}
    found = matches.select("id", "tournament_id", "country_name", **named)
    found = found.join(teams, on="team_id", how="left", maintain_order="left")
    found = found.join(_squads(), on=["tournament_id", "team_id"], how="left", maintain_order="left")
    hosts = pl.col("team") == pl.col("country_name")
    return found.with_columns(hosts=hosts).drop("tournament_id", "country_name", "team_id")


def _squads() -> pl.DataFrame:
    """Return each squad's mean age, its players with an earlier world cup, and the team's earlier world cups."""
    births = _read("players").select("player_id", born=pl.col("birth_date").str.to_date(strict=False).dt.year())
    squads = _read("squads").join(births, on="player_id", how="left")
    earlier = pl.col("year") > pl.col("year").min().over("player_id")
    squads = (
        squads.with_columns(earlier=earlier)
        .group_by("tournament_id", "team_id", "year")
        .agg(age=(pl.col("year") - pl.col("born")).mean(), experienced=pl.col("earlier").sum())
    )
    return squads.with_columns(cups_before=pl.col("year").rank("ordinal").over("team_id") - 1).drop("year")


def _referees(matches: pl.DataFrame) -> pl.DataFrame:
    referees = _read("referee_appearances").unique("match_id", keep="first", maintain_order=True)
    referees = referees.select(id="match_id", referee_country="country_name", referee_from="confederation_code")
    return matches.select("id").join(referees, on="id", maintain_order="left")


def _managers(matches: pl.DataFrame) -> pl.DataFrame:
    """Return whether each side's manager is of the team's own country."""
    # Some teams had two; one row each, or the join below would double matches.
    managers = _read("manager_appearances").unique(["match_id", "team_id"], keep="first", maintain_order=True)
    managers = managers.select("match_id", "team_id", native=pl.col("country_name") == pl.col("team_name"))
    found = matches.select("id", "home_team_id", "away_team_id")
    for side, prefix in SIDES.items():
        named = managers.rename({"match_id": "id", "team_id": f"{prefix}_team_id", "native": f"{side}_native"})
        found = found.join(named, on=["id", f"{prefix}_team_id"], how="left", maintain_order="left")
    return found.drop("home_team_id", "away_team_id")


def load_position() -> HetData:
    """Return the players as HetData: 4,190 instances, 4 tables, 2 graphs, 4 classes."""
    # Sorted, so that the last row of a player is his last squad.
    squads = _read("squads").filter(pl.col("year") >= SINCE).sort("year", "team_id", "player_id")
    last = squads.group_by("player_id", maintain_order=True).last().rename({"player_id": "id"})
    ids = last["id"].to_list()
    tables = {"squad": _squad_table(last)}
    tables |= {"goals": _goals(), "bookings": _bookings(), "substitutions": _substitutions()}
    tables = {name: last.select("id").join(table, on="id", maintain_order="left") for name, table in tables.items()}
    squad = (last["tournament_id"] + last["team_id"]).to_list()
    graphs = {"substituted": _exchanges(ids), "squad_mates": ring_edges(ids, squad, seed=501)}
    target = last.select("id", y=pl.col("position_code").replace_strict(POSITIONS))
    return HetData(tables, graphs, target, id_column="id", task="classification")


def _squad_table(last: pl.DataFrame) -> pl.DataFrame:
    born = pl.col("birth_date").str.to_date(strict=False).dt.year()
    players = _read("players").select("female", "count_tournaments", id="player_id", born=born)
    found = last.join(players, on="id", how="left", maintain_order="left")
    age = pl.col("year") - pl.col("born")
    return found.select("id", "shirt_number", "female", "count_tournaments", "year", team="team_code", age=age)


def _goals() -> pl.DataFrame:
    # An own goal says where a player stood, and not what he aims at.
    goals = _read("goals").filter(pl.col("year") >= SINCE, pl.col("own_goal") == 0)
    return goals.group_by(pl.col("player_id").alias("id")).agg(
        goals=pl.len(), penalties=pl.col("penalty").sum(), mean_minute=pl.col("minute_regulation").mean()
    )


def _bookings() -> pl.DataFrame:
    bookings = _read("bookings").filter(pl.col("year") >= SINCE)
    return bookings.group_by(pl.col("player_id").alias("id")).agg(
        yellow=pl.col("yellow_card").sum(),
        red=pl.col("sending_off").sum(),
        mean_minute=pl.col("minute_regulation").mean(),
    )


def _substitutions() -> pl.DataFrame:
    swaps = _read("substitutions").filter(pl.col("year") >= SINCE)
    minute = pl.col("minute_regulation")
    return swaps.group_by(pl.col("player_id").alias("id")).agg(
        times_off=pl.col("going_off").sum(),
        times_on=pl.col("coming_on").sum(),
        minute_off=minute.filter(pl.col("going_off") == 1).mean(),
        minute_on=minute.filter(pl.col("coming_on") == 1).mean(),
    )


def _exchanges(ids: list[str]) -> pl.DataFrame:
    """Link two players who were exchanged for each other, where a team made one exchange in that minute."""
    swaps = _read("substitutions").filter(pl.col("year") >= SINCE)
    moment = ["match_id", "team_id", "minute_label", "match_period"]
    player = pl.col("player_id")
    pairs = swaps.group_by(moment, maintain_order=True).agg(
        source=player.filter(pl.col("going_off") == 1), target=player.filter(pl.col("coming_on") == 1)
    )
    # Of two exchanges in a minute nobody wrote down who came for whom.
    pairs = pairs.filter((pl.col("source").list.len() == 1) & (pl.col("target").list.len() == 1))
    pairs = pairs.select(pl.col("source").list.first(), pl.col("target").list.first())
    both = pl.col("source").is_in(ids) & pl.col("target").is_in(ids)
    counted = pairs.filter(both).group_by("source", "target", maintain_order=True).len("weight")
    return counted.with_columns(pl.col("weight").cast(pl.Float64))


PROBLEMS = (
    SuiteProblem(
        "worldcup_margin",
        "worldcup",
        GRAPH,
        task="regression",
        half="choosing",
        load=load_margin,
        story="1,248 matches of football world cups: tell the goals between the teams from what is known before.",
    ),
    SuiteProblem(
        "worldcup_position",
        "worldcup",
        GRAPH,
        task="classification",
        half="choosing",
        load=load_position,
        story="4,190 players of football world cups: tell the position from shirt, goals, bookings and substitutions.",
    ),
)
