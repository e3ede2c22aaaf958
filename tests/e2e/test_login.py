"""Login through a provider, in a real Chromium: nobody gets past without one, and everybody has runs of their own.

The studio listens on every address of this machine, as it may only where people log in.
"""

from __future__ import annotations

import re
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from e2e_studio import idle, run_of, studio, trained
from oidc_provider import Faults, OidcProvider

playwright = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
expect = playwright.expect

pytestmark = pytest.mark.e2e
ROOT = Path(__file__).resolve().parents[2]
ADDRESSES = ["", *(path.stem[2:] for path in sorted((ROOT / "pages").glob("[0-9]_*.py")))]
SECRET = "a secret of the client: +/%&"  # noqa: S105 - has what must be quoted
CLIENT = "hetcore studio"
ALL_OF_LOGIN = re.compile(r"\s*hetcore studio\s*login\s*Log in\s*")
"""The words of the page of those who have not logged in; a run of the page that is not yet at its end has fewer."""
SECRETS = """
[auth]
redirect_uri = "http://127.0.0.1:{{port}}/oauth2callback"
cookie_secret = "no secret of any studio but the one of these tests"
client_id = "{client}"
client_secret = "{secret}"
server_metadata_url = "{metadata}"
"""
MARKUP = '<img src=x onerror="window.poisoned=1"> **b** [l](//a.b)'


@pytest.fixture(scope="module")
def home(tmp_path_factory) -> Path:
    """The studio's folder."""
    return tmp_path_factory.mktemp("closed")


@pytest.fixture(scope="module")
def known(browser) -> Iterator[OidcProvider]:
    """The provider that the studio knows; not started where there is no Chromium."""
    with OidcProvider(CLIENT, SECRET) as provider:
        yield provider


@pytest.fixture(scope="module")
def closed(known, home) -> Iterator[str]:
    """A studio that asks for a login; its address."""
    secrets = home / "secrets.toml"
    secrets.write_text(SECRETS.format(client=CLIENT, secret=SECRET, metadata=known.metadata_url), encoding="utf-8")
    everywhere = {"STREAMLIT_SERVER_ADDRESS": "0.0.0.0", "STREAMLIT_BROWSER_SERVER_ADDRESS": "127.0.0.1"}  # noqa: S104
    with studio(home, STREAMLIT_SECRETS_FILES=str(secrets), **everywhere) as url:
        known.redirect_uri = f"{url}/oauth2callback"
        yield url


@pytest.fixture
def provider(known) -> Iterator[OidcProvider]:
    """The provider without faults, and none found with the studio's requests."""
    people = {name: dict(claims) for name, claims in known.people.items()}
    yield known
    refused, known.refused, known.faults, known.people, known.holds = known.refused, [], Faults(), people, False
    assert refused == []


def asked_to_log_in(page) -> None:
    """See the page of those who have not logged in, and nothing else of the studio."""
    expect(page.get_by_role("button", name="Log in"), page.url).to_be_visible()
    expect(page.get_by_test_id("stMain"), page.url).to_have_text(ALL_OF_LOGIN, use_inner_text=True)
    for other in ("stPageLink", "stException"):
        expect(page.get_by_test_id(other), page.url).to_have_count(0)


def choose(page, url: str, who: str) -> None:
    """Go to the provider and choose who one is there."""
    page.goto(url)
    choose_again(page, who)


def choose_again(page, who: str) -> None:
    """Do so from the page that asks for a login."""
    page.get_by_role("button", name="Log in").click()
    expect(page.get_by_role("heading", name="Who are you?")).to_be_visible()
    assert urlsplit(page.url).hostname == "localhost"
    page.get_by_role("button", name=who, exact=True).click()


def log_in(page, url: str, who: str) -> None:
    """Log in and come back to Home."""
    choose(page, url, who)
    expect(page.get_by_role("button", name="Log out")).to_be_visible()
    expect(page.get_by_text("five tables and two graphs about 1,797 instances")).to_be_visible()
    idle(page)
    assert page.url.rstrip("/") == url


def log_out(page) -> None:
    """Log out, which ends at the page that asks for a login."""
    page.get_by_role("button", name="Log out").click()
    asked_to_log_in(page)


def train(page, url: str) -> str:
    """Train a few rounds; return "run=" and the id."""
    page.goto(f"{url}/Consensus?rounds=5")
    idle(page)
    page.locator(".st-key-train button").click()
    trained(page)
    idle(page)
    return run_of(page)


def test_the_studio_listens_where_it_may_only_with_a_login(closed, provider):
    port = urlsplit(closed).port
    named = urllib.request.Request(f"http://127.0.0.2:{port}/_stcore/health", headers={"Host": f"127.0.0.1:{port}"})
    with urllib.request.urlopen(named, timeout=10) as reply:  # it listens there, for those who name it as it is named
        assert reply.status == 200
    with pytest.raises(urllib.error.HTTPError, match="403|400|421"):
        urllib.request.urlopen(f"http://127.0.0.2:{port}/_stcore/health", timeout=10)


def test_nobody_sees_a_page_without_a_login(closed, provider, page):
    for address in (*ADDRESSES, "Consensus?run=0123456789abcdefghijkl", "Data?data=mfeat"):
        page.goto(f"{closed}/{address}")
        asked_to_log_in(page)
    assert page.foreign == []


def test_runs_belong_to_the_person(closed, provider, window):
    anna = window()
    log_in(anna, closed, "Anna")
    expect(anna.get_by_text("Logged in as Anna.")).to_be_visible()
    run = train(anna, closed)
    elsewhere = window()
    log_in(elsewhere, closed, "Anna")
    for page in (anna, elsewhere):
        page.goto(f"{closed}/Runs")
        expect(page.get_by_test_id("stMultiSelect").get_by_text("GBCClassifier", exact=False).first).to_be_visible()
    elsewhere.goto(f"{closed}/Consensus?{run}")
    trained(elsewhere)
    ben = window()
    log_in(ben, closed, "Ben")
    others = f"Noise?{run}&labels=Noise", f"Consensus?{run},{run[4:]}&labels=Consensus|b"
    sees_nothing(ben, closed, run, *others)
    log_out(anna)
    anna.goto(f"{closed}/Consensus?{run}")
    asked_to_log_in(anna)
    log_in(anna, closed, "Ben")  # the same browser, another person
    sees_nothing(anna, closed, run)


def sees_nothing(page, url: str, run: str, *others: str) -> None:
    """Find no run of another person's, neither listed nor by its id."""
    page.goto(f"{url}/Runs")
    expect(page.get_by_text("No runs yet")).to_be_visible()
    for address in (f"Consensus?{run}", *others):
        page.goto(f"{url}/{address}")
        expect(page.locator(".st-key-train button")).to_be_visible()
        idle(page)
        expect(page).not_to_have_url(re.compile(run))
        for other in (page.locator(".st-key-state"), page.get_by_test_id("stException")):
            expect(other).to_have_count(0)


def test_pages_work_after_a_login(closed, provider, page):
    log_in(page, closed, "Ben")
    for name in ("Runs", "Consensus", "Data", ""):  # those of what is a person's own; test_pages_cold opens every page
        page.get_by_test_id("stSidebar").get_by_role("link", name=name or "Home", exact=True).click()
        expect(page.get_by_role("heading", level=1, name=name or "hetcore studio")).to_be_visible()
        idle(page)
        expect(page.get_by_role("button", name="Log out")).to_be_visible()
        expect(page.get_by_test_id("stException")).to_have_count(0)
    log_out(page)
    assert {urlsplit(address).netloc for address in page.foreign} == {urlsplit(provider.issuer).netloc}


def test_a_name_with_markup_is_text(closed, provider, window):
    provider.people["Ben"]["name"] = MARKUP
    page = window()
    log_in(page, closed, "Ben")
    sentence = page.get_by_test_id("stSidebar").get_by_text("Logged in as")
    expect(sentence).to_contain_text('<img src=x onerror="window.poisoned=1"> **b** [l]')
    expect(sentence.locator("img, a, strong")).to_have_count(0)
    assert page.evaluate("window.poisoned") is None


FALSE = {
    "another key": Faults(other_key=True),
    "no signature": Faults(unsigned=True),
    "another nonce": Faults(claims={"nonce": "of another login"}),
    "another client": Faults(claims={"aud": "another client"}),
    "another issuer": Faults(claims={"iss": "http://localhost:1"}),
    "too old": Faults(claims={"exp": 1}),
}


def test_a_false_token_is_no_login(closed, provider, page, subtests):
    page.goto(closed)
    for fault, provider.faults in FALSE.items():
        with subtests.test(fault):
            choose_again(page, "Anna")
            back_without_login(page, closed)


def test_a_token_about_nobody_is_no_login(closed, provider, window):
    provider.people["Ben"] = {"sub": "", "name": "", "email": ""}
    page = window()
    choose(page, closed, "Ben")
    asked_to_log_in(page)


def test_a_callback_that_nobody_asked_for_is_no_login(closed, provider, page, subtests):
    for query in ("code=x&state=wrong", "code=x", "state=", "error=access_denied&state=wrong", ""):
        with subtests.test(query):
            page.goto(f"{closed}/oauth2callback?{query}")
            back_without_login(page, closed)


def test_cancelling_is_no_login(closed, provider, window):
    page = window()
    choose(page, closed, "Cancel")
    back_without_login(page, closed)
    assert page.evaluate("window.poisoned") is None


def test_a_callback_works_once_and_in_the_browser_that_asked_only(closed, provider, window):
    mine, anothers = window(), window()
    provider.holds = True
    choose(mine, closed, "Anna")
    expect(mine.get_by_role("heading", name="Held")).to_be_visible()
    provider.holds = False
    anothers.goto(provider.held)
    back_without_login(anothers, closed)
    mine.goto(provider.held)
    expect(mine.get_by_role("button", name="Log out")).to_be_visible()
    log_out(mine)
    mine.goto(provider.held)
    back_without_login(mine, closed)


def test_a_cookie_of_ones_own_making_is_no_login(closed, provider, window):
    mine, forged = window(), window()
    log_in(mine, closed, "Anna")
    kept = [cookie for cookie in mine.context.cookies() if cookie["name"] == "_streamlit_user"]
    assert len(kept) == 1 and kept[0]["httpOnly"] and kept[0]["sameSite"] == "Lax"
    changed = re.sub(r"[A-Za-z](?=[^A-Za-z]*$)", lambda found: found.group().swapcase(), kept[0]["value"])
    assert changed != kept[0]["value"]
    forged.context.add_cookies([kept[0] | {"value": changed}])
    forged.goto(closed)
    asked_to_log_in(forged)
    forged.context.add_cookies(kept)
    forged.goto(closed)  # the cookie as it was is the login
    expect(forged.get_by_role("button", name="Log out")).to_be_visible()


def back_without_login(page, url: str) -> None:
    """Be at the page that asks for a login, with nothing of an error in it."""
    asked_to_log_in(page)
    assert page.url.rstrip("/") == url
    assert not any(cookie["name"].startswith("_streamlit_user") for cookie in page.context.cookies())


def test_the_log_keeps_no_secret(closed, provider, home):
    log = (home / "studio.log").read_text(encoding="utf-8", errors="replace")
    assert SECRET not in log and "no secret of any studio" not in log
