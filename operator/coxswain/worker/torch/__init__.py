"""Training with PyTorch, on one process or many, by the contract of `coxswain.worker.report`.

`recipe` says what to train, `data` and `networks` give it, `trainer` trains it, `world` joins the processes and
`monitor` watches over them, `checkpoint` keeps what was learned, and `app` puts the parts together.
"""
