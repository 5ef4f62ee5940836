"""A case for every rule of a TrainingExperiment."""

from typing import Any

from tests.contract.cases import Case
from tests.contract.manifests import (
    EXPERIMENT,
    LEFT_OUT,
    MINIMAL_EXPERIMENT,
    OPTIMAL_EXPERIMENT,
    SEARCH_EXPERIMENT,
)

_LEVELS = {"name": "x", "levels": [1, 2]}
_TEN_LEVELS = list(range(1, 11))


def _factors(count: int, levels: list[int]) -> list[dict[str, Any]]:
    return [{"name": f"f{n}", "field": f"parameters.extra.f{n}", "levels": levels} for n in range(count)]


EXPERIMENT_CASES = (
    Case(
        "a factor of a field that cannot be set",
        MINIMAL_EXPERIMENT,
        {"factors": [_LEVELS | {"field": "queueName"}]},
        "a factor sets one of the fields of parameters, resources, resources.spark, workload or workload.ingest, "
        "parameters.extra.NAME, or concurrency",
        {"factors": [_LEVELS | {"field": "concurrency"}]},
    ),
    Case(
        "levels and categories",
        MINIMAL_EXPERIMENT,
        {"factors.0.categories": ["a", "b"]},
        "give exactly one of levels (numbers) and categories (names)",
    ),
    Case(
        "neither levels nor categories",
        MINIMAL_EXPERIMENT,
        {"factors.0.levels": LEFT_OUT},
        "give exactly one of levels (numbers) and categories (names)",
    ),
    Case(
        "a level twice",
        MINIMAL_EXPERIMENT,
        {"factors.0.levels": [1, 2, 1.0]},
        "levels must be distinct",
        {"factors.0.levels": [1, 2, 3]},
    ),
    Case(
        "a category twice",
        EXPERIMENT,
        {"factors.3.categories": ["vit", "vit"]},
        "categories must be distinct",
        {"factors.3.categories": ["vit", "mlp"]},
    ),
    Case(
        "logarithm of nothing",
        MINIMAL_EXPERIMENT,
        {"factors": [{"name": "x", "field": "parameters.extra.x", "levels": [0, 1], "coding": "Log"}]},
        "coding Log needs levels above 0",
        {"factors": [{"name": "x", "field": "parameters.extra.x", "levels": [0.5, 1], "coding": "Log"}]},
    ),
    Case(
        "logarithm of a name",
        MINIMAL_EXPERIMENT,
        {"factors": [{"name": "x", "field": "workload.network", "categories": ["mlp", "vit"], "coding": "Log"}]},
        "coding Log needs levels above 0",
        {"factors": [{"name": "x", "field": "workload.network", "categories": ["mlp", "vit"]}]},
    ),
    Case(
        "numbers for a network",
        MINIMAL_EXPERIMENT,
        {"factors": [_LEVELS | {"field": "workload.network"}]},
        "give categories for optimizer, schedule, network, dataset, strategy, ingest.format and ingest.cache, "
        "and levels for every other field",
        {"factors": [{"name": "x", "field": "workload.network", "categories": ["mlp", "vit"]}]},
    ),
    Case(
        "names for a number",
        MINIMAL_EXPERIMENT,
        {"factors": [{"name": "x", "field": "parameters.epochs", "categories": ["few", "many"]}]},
        "give categories for optimizer, schedule, network, dataset, strategy, ingest.format and ingest.cache, "
        "and levels for every other field",
        {"factors": [{"name": "x", "field": "parameters.extra.epochs", "categories": ["few", "many"]}]},
    ),
    Case(
        "a level of nothing",
        MINIMAL_EXPERIMENT,
        {"factors.0.levels": [0, 1]},
        "levels of this field must be above 0",
        {"factors": [{"name": "gpus", "field": "resources.gpusPerWorker", "levels": [0, 1]}]},
    ),
    Case(
        "half an epoch",
        MINIMAL_EXPERIMENT,
        {"factors.0.levels": [0.5, 1]},
        "levels of this field must be whole numbers",
        {"factors": [{"name": "cores", "field": "resources.coresPerWorker", "levels": [0.5, 1]}]},
    ),
    Case(
        "two factors of one field",
        MINIMAL_EXPERIMENT,
        {"factors": [_LEVELS | {"name": name, "field": "parameters.epochs"} for name in ("a", "b")]},
        "two factors must not set the same field",
        {"factors": [_LEVELS | {"name": name, "field": f"parameters.extra.{name}"} for name in ("a", "b")]},
    ),
    Case(
        "two factors of one name",
        MINIMAL_EXPERIMENT,
        {"factors": [_LEVELS | {"field": field} for field in ("parameters.epochs", "parameters.batchSize")]},
        "Duplicate value",
    ),
    Case(
        "Spark factors with Torch",
        MINIMAL_EXPERIMENT,
        {"factors": [_LEVELS | {"field": "resources.spark.nodes"}]},
        "factors of resources.spark need engine Spark in the template",
        {"factors": [_LEVELS | {"field": "resources.spark.nodes"}], "template.spec": {"engine": "Spark"}},
    ),
    Case(
        "Torch factors with Spark",
        MINIMAL_EXPERIMENT,
        {"factors": [_LEVELS | {"field": "resources.workers"}], "template.spec": {"engine": "Spark"}},
        "with engine Spark vary resources.spark.nodes, executorsPerNode, coresPerExecutor and memoryPerExecutor",
        {"factors": [_LEVELS | {"field": "resources.workers"}]},
    ),
    Case(
        "ingest factors for training",
        MINIMAL_EXPERIMENT,
        {"factors": [_LEVELS | {"field": "workload.ingest.batches"}]},
        "factors of workload.ingest need a workload of type Ingest in the template",
        {
            "factors": [_LEVELS | {"field": "workload.ingest.batches"}],
            "template.spec": {"engine": "Spark", "workload": {"type": "Ingest"}},
        },
    ),
    Case(
        "a fraction by generators and resolution",
        EXPERIMENT,
        {"design.resolution": 3},
        "a FractionalFactorial needs exactly one of generators and resolution; other types take neither",
        {"design.resolution": 3, "design.generators": LEFT_OUT},
    ),
    Case(
        "a fraction by nothing",
        EXPERIMENT,
        {"design.generators": LEFT_OUT},
        "a FractionalFactorial needs exactly one of generators and resolution; other types take neither",
    ),
    Case(
        "generators for a full factorial",
        EXPERIMENT,
        {"design.type": "FullFactorial"},
        "a FractionalFactorial needs exactly one of generators and resolution; other types take neither",
        {"design.type": "FullFactorial", "design.generators": LEFT_OUT},
    ),
    Case(
        "a generator of a letter without factor",
        EXPERIMENT,
        {"design.generators": ["D=AB", "E=AF"]},
        "generators must refer to existing factors: by name, or by the letters A, B, C, … (without I) "
        "in the order of factors",
        {"design.generators": ["D=AB", "E=BC"]},
    ),
    Case(
        "a generator of a name without factor",
        EXPERIMENT,
        {"design.generators": ["epochs=cores*momentum"]},
        "generators must refer to existing factors: by name, or by the letters A, B, C, … (without I) "
        "in the order of factors",
        {"design.generators": ["epochs=cores*batch_size"]},
    ),
    Case(
        "as many generators as factors",
        EXPERIMENT,
        {"design.generators": ["A=BC", "B=AC", "C=AB", "D=AB", "E=AC"]},
        "there must be fewer generators than factors",
        {"design.generators": ["D=AB", "E=AC"]},
    ),
    Case(
        "a Latin hypercube without runs",
        MINIMAL_EXPERIMENT,
        {"design.type": "LatinHypercube"},
        "LatinHypercube and DOptimal need runs, PlackettBurman may have it; other types do not take it",
        {"design": {"type": "LatinHypercube", "runs": 8}},
    ),
    Case(
        "runs for a full factorial",
        MINIMAL_EXPERIMENT,
        {"design.runs": 8},
        "LatinHypercube and DOptimal need runs, PlackettBurman may have it; other types do not take it",
        {"design": {"type": "PlackettBurman", "runs": 8}},
    ),
    Case(
        "rows that are not given",
        MINIMAL_EXPERIMENT,
        {"design.type": "Rows"},
        "a design of type Rows needs rows, DOptimal may have them; other types do not take them",
        {"design": {"type": "Rows", "rows": [{"settings": [{"name": "epochs", "level": 1}]}]}},
    ),
    Case(
        "rows for a full factorial",
        MINIMAL_EXPERIMENT,
        {"design.rows": [{"settings": [{"name": "epochs", "level": 1}]}]},
        "a design of type Rows needs rows, DOptimal may have them; other types do not take them",
    ),
    Case(
        "a row of a factor that does not exist",
        MINIMAL_EXPERIMENT,
        {"design": {"type": "Rows", "rows": [{"settings": [{"name": "batch", "level": 1}]}]}},
        "every row must give a value for every factor and for nothing else",
        {"design": {"type": "Rows", "rows": [{"settings": [{"name": "epochs", "level": 1}]}]}},
    ),
    Case(
        "a row that leaves out a factor",
        OPTIMAL_EXPERIMENT,
        {"design.rows": [{"settings": [{"name": "batch_size", "level": 32}]}]},
        "every row must give a value for every factor and for nothing else",
    ),
    Case(
        "a row that sets a factor twice",
        MINIMAL_EXPERIMENT,
        {"design": {"type": "Rows", "rows": [{"settings": [{"name": "epochs", "level": n} for n in (1, 2)]}]}},
        "Duplicate value",
    ),
    Case(
        "a setting with level and category",
        OPTIMAL_EXPERIMENT,
        {"design.rows.0.settings.0.category": "deep-cnn"},
        "give exactly one of level and category",
    ),
    Case(
        "an exclusion without a value",
        OPTIMAL_EXPERIMENT,
        {"design.exclude.0.settings.0.level": LEFT_OUT},
        "give exactly one of level and category",
    ),
    Case(
        "a model for a full factorial",
        MINIMAL_EXPERIMENT,
        {"design.model": "Main"},
        "model and exclude are only for type DOptimal",
        {"design": {"type": "DOptimal", "runs": 4, "model": "Main"}},
    ),
    Case(
        "an axial distance for a full factorial",
        MINIMAL_EXPERIMENT,
        {"design.alpha": "Face"},
        "alpha and inscribed are only for type CentralComposite",
        {"design": {"type": "CentralComposite", "alpha": "Face"}},
    ),
    Case(
        "a full factorial inscribed",
        MINIMAL_EXPERIMENT,
        {"design.inscribed": True},
        "alpha and inscribed are only for type CentralComposite",
        {"design": {"type": "CentralComposite", "inscribed": True}},
    ),
    Case(
        "a full factorial folded over",
        MINIMAL_EXPERIMENT,
        {"design.foldOver": "All"},
        "foldOver is only for types FractionalFactorial and PlackettBurman",
        {"design": {"type": "PlackettBurman", "foldOver": "All"}},
    ),
    Case(
        "a fraction folded over on no factor",
        EXPERIMENT,
        {"design.foldOver": "momentum"},
        "foldOver must be All or the name of a factor",
        {"design.foldOver": "cores"},
    ),
    Case(
        "a search without its options",
        SEARCH_EXPERIMENT,
        {"design.search": LEFT_OUT},
        "HillClimb and BayesianOptimization need search; other types do not take it",
    ),
    Case(
        "search options for a design",
        SEARCH_EXPERIMENT,
        {"design.type": "FullFactorial"},
        "HillClimb and BayesianOptimization need search; other types do not take it",
        {"design.type": "HillClimb"},
    ),
    Case(
        "a search for a response that is not there",
        SEARCH_EXPERIMENT,
        {"design.search.minimize": "loss"},
        "search may name only responses that analysis lists",
        {"design.search.minimize": "duration"},
    ),
    Case(
        "a search limited by a response that is not there",
        SEARCH_EXPERIMENT,
        {"design.search.limit.response": "loss"},
        "search may name only responses that analysis lists",
        {"design.search.limit.response": "money"},
    ),
    Case(
        "a template that is steered",
        MINIMAL_EXPERIMENT,
        {"template.spec": {"adjust": [{"field": "epochs", "values": [1]}]}},
        "the runs of an experiment are never steered; leave out adjust and steered",
        {"template.spec": {"deadline": {"within": "15m"}}},
    ),
    Case(
        "Poisson arrivals without a rate",
        MINIMAL_EXPERIMENT,
        {"arrivals": {"type": "Poisson"}},
        "Poisson arrivals need ratePerHour, a Trace needs times",
        {"arrivals": {"type": "Poisson", "ratePerHour": 1}},
    ),
    Case(
        "a trace with a rate",
        MINIMAL_EXPERIMENT,
        {"arrivals": {"type": "Trace", "ratePerHour": 1, "times": [0]}},
        "Poisson arrivals need ratePerHour, a Trace needs times",
        {"arrivals": {"type": "Trace", "times": [0]}},
    ),
    Case(
        "a response that is not measured",
        MINIMAL_EXPERIMENT,
        {"analysis": {"responses": [{"name": "joy"}]}},
        "a response without an expression must be one of duration, accuracy, loss, samplesPerSecond, "
        "imagesWrittenPerSecond, startup, wait and money",
        {"analysis": {"responses": [{"name": "joy", "expression": "1 / loss"}]}},
    ),
    Case(
        "a response twice",
        MINIMAL_EXPERIMENT,
        {"analysis": {"responses": [{"name": "loss"}, {"name": "loss"}]}},
        "Duplicate value",
    ),
    Case(
        "a budget of no time",
        MINIMAL_EXPERIMENT,
        {"budget": {"duration": "0s"}},
        "give a time longer than nothing, for example 15m",
        {"budget": {"duration": "1s"}},
    ),
    Case(
        "a budget of nothing",
        MINIMAL_EXPERIMENT,
        {"budget": {}},
        "should have at least 1 properties",
        {"budget": {"cost": 1}},
    ),
    *(
        Case(
            name,
            MINIMAL_EXPERIMENT,
            broken,
            "a design may have at most 10000 runs (rows × replications): "
            "use fewer levels, a fraction or fewer replications",
            valid,
        )
        for name, broken, valid in (
            (
                "a full factorial of 100000 rows",
                {"factors": _factors(5, _TEN_LEVELS)},
                {"factors": _factors(4, _TEN_LEVELS)},
            ),
            (
                "a full factorial of 32 to the 25th rows",
                {"factors": _factors(25, list(range(1, 33)))},
                {"factors": _factors(2, list(range(1, 33)))},
            ),
            (
                "a full factorial of 10000 rows replicated",
                {"factors": _factors(4, _TEN_LEVELS), "design.replications": 2},
                {"factors": _factors(3, _TEN_LEVELS), "design.replications": 10},
            ),
            (
                "a fraction of 16384 rows",
                {"factors": _factors(15, [1, 2]), "design": {"type": "FractionalFactorial", "generators": ["P=ABCD"]}},
                {
                    "factors": _factors(15, [1, 2]),
                    "design": {"type": "FractionalFactorial", "generators": ["P=ABCD", "O=ABCE"]},
                },
            ),
            (
                "10000 runs replicated",
                {"design": {"type": "LatinHypercube", "runs": 10000, "replications": 2}},
                {"design": {"type": "LatinHypercube", "runs": 5000, "replications": 2}},
            ),
            (
                "11 rows replicated 1000 times",
                {
                    "factors.0.levels": list(range(1, 12)),
                    "design": {
                        "type": "Rows",
                        "replications": 1000,
                        "rows": [{"settings": [{"name": "epochs", "level": n}]} for n in range(1, 12)],
                    },
                },
                {
                    "factors.0.levels": list(range(1, 12)),
                    "design": {
                        "type": "Rows",
                        "replications": 1000,
                        "rows": [{"settings": [{"name": "epochs", "level": n}]} for n in range(1, 11)],
                    },
                },
            ),
        )
    ),
)
