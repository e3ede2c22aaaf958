"""The letters and terms of the papers: what each is, with its equation, for whoever hovers over it. No Streamlit.

A letter means different things in different papers, so a term has a key of its own, and the pages that it is on.
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["TERMS", "Term", "hover", "of_page", "with_equation"]


class Term(NamedTuple):
    """A letter or name, what it is in a sentence, its equation in LaTeX, where that stands, and its pages."""

    name: str
    text: str
    equation: str
    source: str
    pages: tuple[str, ...]


TERMS = {
    "lambda0": Term(
        "λ0", "Pulls what each source predicts of rows without a label to the consensus E of all sources.",
        r"\lambda_0 \sum_i w_i \sum_{x \in U_i} L(f_i(x), E(x))", "consensus paper, (4.4)",
        ("Consensus", "Playground"),
    ),
    "lambda1": Term(
        "λ1", "Makes the prediction smooth along the links: pulls it to Ẽ, the average over the neighbours.",
        r"\lambda_1 \sum_i w_i \sum_{x \in U_i} L(f_i(x), \tilde{E}_i(x))", "consensus paper, (4.4)",
        ("Consensus", "Playground"),
    ),
    "rate": Term(
        "Learning rate η", "The share of a tree's step that is taken in a round.",
        r"f_i \leftarrow f_i + \eta\, h_i", "a boosting step; as printed (4.9) has the line search's ρ for η",
        ("Consensus", "Noise"),
    ),
    "morans_i": Term(
        "Moran's I", "How alike linked instances are: about 0 if links say nothing, 1 if neighbours are the same.",
        r"I = \frac{m}{\sum_{ij} w_{ij}} \frac{\sum_{ij} w_{ij} z_i z_j}{\sum_i z_i^2},\quad z = r - \bar{r}",
        "P. Moran, 1950", ("Collective",),
    ),
    "rf1": Term(
        "Rf1", "What the neighbours' targets are; what is predicted of them where they have no label.",
        r"\mathrm{Rf1}_i = \mathrm{median}_{j \in N(i)}\; y_j", "collective paper, (8)", ("Collective",),
    ),
    "rf2": Term(
        "Rf2", "The neighbours' residuals of this stage.",
        r"\mathrm{Rf2}_i = \mathrm{median}_{j \in N(i)}\; [y_j - F_{m-1}(j)]", "collective paper, (9)", ("Collective",),
    ),
    "rf3": Term(
        "Rf3", "The neighbours' residuals of the stage before.",
        r"\mathrm{Rf3}_i = \mathrm{median}_{j \in N(i)}\; [y_j - F_{m-2}(j)]", "collective paper, (10)",
        ("Collective",),
    ),
    "rf4": Term(
        "Rf4", "Its own prediction of the stage before.",
        r"\mathrm{Rf4}_i = F_{m-1}(i)", "collective paper, (11)", ("Collective",),
    ),
    "eta": Term(
        "η", "How fast the weights of the target's rows move beside those of the sources.",
        r"w_T \leftarrow w_T\, e^{\eta\, \alpha_T |h_t - y|},\quad w_S \leftarrow w_S\, e^{-\eta\, \alpha_S |h_t - y|}",
        "transfer paper, (3), (4)", ("Transfer",),
    ),
    "epsilon_error": Term(
        "ε", "Weighted error of a round's learner on the target; α is the vote that it gets.",
        r"\alpha_t = \tfrac{1}{2} \ln \frac{1 - \epsilon_t}{\epsilon_t}", "transfer paper", ("Transfer",),
    ),
    "epsilon_step": Term(
        "ε", "Step of the first source's learner g in a round, chosen with δ for the least risk.",
        r"(\epsilon, \delta) = \arg\min R(f + \epsilon g + \delta h)", "two-learner paper, (4)", ("Two learners",),
    ),
    "delta_step": Term(
        "δ", "Step of the second source's learner h in a round, chosen with ε.",
        r"f \leftarrow f + \epsilon g + \delta h", "two-learner paper, Algorithm 1", ("Two learners",),
    ),
    "direction": Term(
        "w", "What is still wrong with each row: the learners g and h are fitted to it by least squares.",
        r"w_i = \tfrac{1}{2} \sum_k (y_i - y^k)\, e^{-\frac{1}{2} \langle f(x_i), y_i - y^k \rangle}",
        "two-learner paper, (1)", ("Two learners",),
    ),
    "tilted": Term(
        "w̃", "The same with half the exponent; with w it makes the targets of the second order.",
        r"g \to \epsilon w - \tfrac{\epsilon^2}{4} \tilde{w} - \tfrac{\epsilon\delta}{2} w",
        "two-learner paper, (5), (7)", ("Two learners",),
    ),
    "risk": Term(
        "R", "What rounds lower: large where a wrong class k scores above the row's own class y.",
        r"R(f) = \frac{1}{n} \sum_i \sum_{k \ne y_i} e^{-\frac{1}{2} (f_{y_i} - f_k)}",
        "two-learner paper, section 3.2", ("Two learners",),
    ),
    "sigma": Term(
        "σ", "How far numbers stray from the prediction, learned for each row: rows of large σ count less.",
        r"\frac{1}{N} \sum_i \frac{(y_i - f(x_i))^2}{\sigma_i^2} + \ln \sigma_i^2", "heteroscedastic paper, (6)",
        ("Noise",),
    ),
}  # fmt: skip


def hover(term: Term) -> str:
    """Return what is shown over a term: Markdown with its equation."""
    return f"{term.text}\n\n$\\displaystyle {term.equation}$\n\n({term.source})"


def of_page(page: str) -> dict[str, Term]:
    """Return the terms of a page by key."""
    return {key: term for key, term in TERMS.items() if page in term.pages}


def with_equation(label: str, help: str) -> str:
    """Return the help of a control, and the equation of the letter that its label begins with."""
    for term in TERMS.values():
        if label == term.name or label.startswith(f"{term.name} ·"):
            return f"{help}\n\n$\\displaystyle {term.equation}$\n\n({term.source})"
    return help
