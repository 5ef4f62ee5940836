"""A script of your own under Coxswain: fit a line by gradient descent, in nothing but the standard library.

The two lines that make it a job are marked. Parameters arrive in `job.settings`; what you name yourself is in
`job.settings.extra`.
"""

import random

from coxswain.worker import report

with report.job() as job:  # <- one
    settings = job.settings
    draw = random.Random(settings.seed)
    slope = float(settings.extra.get("slope", "2"))
    points = [(x, slope * x + draw.gauss(0, 0.1)) for x in (draw.uniform(-1, 1) for _ in range(1000))]
    training, validation = points[:800], points[800:]

    guess = 0.0
    for _ in range(settings.epochs):
        draw.shuffle(training)
        for begin in range(0, len(training), settings.batch_size):
            batch = training[begin : begin + settings.batch_size]
            guess -= settings.learning_rate * sum(2 * x * (guess * x - y) for x, y in batch) / len(batch)
        errors = [abs(guess * x - y) for x, y in validation]
        loss, accuracy = sum(e * e for e in errors) / len(errors), sum(e < 0.2 for e in errors) / len(errors)
        job.epoch(loss=loss, accuracy=accuracy, samples=len(training))  # <- two
