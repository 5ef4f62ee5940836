"""What a family's observations say about a job to come, or about one under way, and how well they said it before.

learning  the models of a family, from its entries in the ledger
outlook   a job's forecast, from those models and from what is seen of the job
fan       a distribution in thirteen numbers: what is kept of a forecast
scores    forecasts beside what came
track     where bounds are read, so that they hold as often as they say
adapted   models that are read so
drift     the alarm that runs have changed
"""
