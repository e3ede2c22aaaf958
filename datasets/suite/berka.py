"""Loans of a Czech bank (PKDD'99 Discovery Challenge, P. Berka): good or bad, from five tables.

682 loans, good (statuses A and C, 606) or bad (B and D, 76). Tables: `loan` (amount, duration, payments, year),
`account`, `owner` (age, sex, whether another person may dispose), `orders` (standing orders, by purpose) and
`district`. The standing order of the loan itself (UVER) is left out: its presence tells the loan's state. Cards are
left out: four of five were issued after the loan. Graphs: `bank` links accounts with a standing order to the same
bank, `district` accounts of one district, both as rings (`_reading.ring_edges`, seeds 601 and 602) in place of
cliques.
"""

from __future__ import annotations

import polars as pl

from datasets.suite._problem import GRAPH, SuiteProblem
from datasets.suite._reading import local, ring_edges
from hetcore.data import HetData

__all__ = ["PROBLEMS"]

DISTRICT = {
    "A4": "inhabitants", "A9": "cities", "A10": "urban", "A11": "salary", "A12": "unemployment_95",
    "A13": "unemployment_96", "A14": "entrepreneurs", "A15": "crimes_95", "A16": "crimes_96",
}  # fmt: skip
PURPOSES = {"SIPO": "household", "POJISTNE": "insurance", " ": "other"}
LOAN_ORDER = "UVER"
STATUS = {"A": "good", "B": "bad", "C": "good", "D": "bad"}


def _read(name: str) -> pl.DataFrame:
    path = local("zhouxu-ds/loan-default-prediction", f"data/{name}.asc")
    return pl.read_csv(path, separator=";", null_values="?", infer_schema_length=None)


def load() -> HetData:
    """Return the loans as HetData: 682 instances, 5 tables, 2 graphs, 2 classes."""
    loans = _read("loan").rename({"date": "granted"}).join(_read("account"), on="account_id", maintain_order="left")
    loans = loans.with_columns(id=pl.format("loan-{}", "loan_id"))
    orders = _read("order").filter(pl.col("k_symbol") != LOAN_ORDER)
    orders = loans.select("id", "account_id").join(orders, on="account_id", maintain_order="left")
    tables = {
        "loan": loans.select("id", "amount", "duration", "payments", year=pl.col("granted") // 10_000),
        "account": loans.select("id", "frequency", age=_years(pl.col("granted")) - _years(pl.col("date"))),
        "owner": _owners(loans),
        "orders": _orders(orders),
        "district": _districts(loans),
    }
    y = pl.col("status").replace_strict(STATUS)
    return HetData(tables, _graphs(loans, orders), loans.select("id", y=y), id_column="id", task="classification")


def _years(date: pl.Expr) -> pl.Expr:
    """Return a date written as YYMMDD in years."""
    return date // 10_000 + (date // 100 % 100) / 12 + (date % 100) / 365


def _owners(loans: pl.DataFrame) -> pl.DataFrame:
    """Return age at the grant and sex of the account's owner (women's birth months are written plus 50)."""
    disp, clients = _read("disp"), _read("client").select("client_id", born=pl.col("birth_number").cast(pl.Int64))
    number = disp.group_by("account_id").agg(persons=pl.len())
    owners = disp.filter(pl.col("type") == "OWNER").join(clients, on="client_id")
    woman = pl.col("born") // 100 % 100 > 50
    owners = owners.select("account_id", woman=woman, born=pl.col("born") - 5_000 * woman.cast(pl.Int64))
    found = loans.join(owners, on="account_id", maintain_order="left")
    found = found.join(number, on="account_id", maintain_order="left")
    return found.select("id", "woman", "persons", age=_years(pl.col("granted")) - _years(pl.col("born")))


def _orders(orders: pl.DataFrame) -> pl.DataFrame:
    """Return the number and sum of the standing orders, and the sum by purpose; no record without an order."""
    amount = pl.col("amount")
    sums = [amount.filter(pl.col("k_symbol") == mark).sum().alias(name) for mark, name in PURPOSES.items()]
    return orders.group_by("id", maintain_order=True).agg(pl.len().alias("number"), amount.sum().alias("total"), *sums)


def _districts(loans: pl.DataFrame) -> pl.DataFrame:
    districts = _read("district").select(pl.col("A1").alias("district_id"), region="A3", **DISTRICT_COLUMNS)
    found = loans.select("id", "district_id").join(districts, on="district_id", maintain_order="left")
    return found.drop("district_id")


def _graphs(loans: pl.DataFrame, orders: pl.DataFrame) -> dict[str, pl.DataFrame]:
    paid = orders.unique(["id", "bank_to"], maintain_order=True)
    bank = ring_edges(paid["id"].to_list(), paid["bank_to"].to_list(), 3, seed=601)
    return {
        "bank": bank.select(source=pl.min_horizontal("source", "target"), target=pl.max_horizontal("source", "target"))
        .group_by("source", "target", maintain_order=True)
        .agg(weight=pl.len().cast(pl.Float64)),
        "district": ring_edges(loans["id"].to_list(), loans["district_id"].to_list(), 3, seed=602),
    }


DISTRICT_COLUMNS = {name: pl.col(code) for code, name in DISTRICT.items()}
PROBLEMS = (
    SuiteProblem(
        "berka_loans",
        "berka_loans",
        GRAPH,
        task="classification",
        half="reporting",
        load=load,
        story="682 loans of a Czech bank: good or bad, from loan, account, owner, standing orders and district.",
    ),
)
