"""An engine for tests: it runs nothing, and says of each model what it is told to say.

usage: fake_engine.py KIND

fast       models take 1 us less for each DequantizeLinear; slow: 1 us more
slow_at=X  fast, but a model with a value X_quantized takes 1 ms more
unfused=fast (slow) a model with a value X_unfused takes 30 us less (more)
noisy      every third round takes ten times as long, for all models
sent       sees no files, so that models have to be sent; quartiles: says medians only
refuses, crashes, hangs, nonsense, few, negative, unnamed: what engines should not do
"""
import base64
import json
import os
import sys
import time

kind, _, name = sys.argv[1].partition("=")
models = {}
rounds_done = 0


def nanoseconds(content):
    count = content.count(b"DequantizeLinear")
    if kind == "slow":
        return 100_000 + 1000 * count
    if kind == "slow_at" and (name + "_quantized").encode() in content:
        return 1_100_000
    if kind == "unfused" and b"_unfused" in content:
        return 100_000 - 1000 * count + (-30_000 if name == "fast" else 30_000)
    return 100_000 - 1000 * count


def load(request):
    if kind == "refuses":
        return {"error": "no kernel for that"}
    if kind == "sent" and "content" not in request:
        return {"missing": True}
    if "content" in request:
        content = base64.b64decode(request["content"])
    else:
        with open(request["file"], "rb") as file:
            content = file.read()
    models[request["model"]] = nanoseconds(content)
    return {}


def measure(request):
    global rounds_done
    if kind == "crashes":
        print("illegal instruction", file=sys.stderr, flush=True)
        os._exit(9)
    if kind == "hangs":
        time.sleep(1000)
    if kind == "nonsense":
        return "all is well"
    rounds = request["rounds"] - (kind == "few")
    samples = []
    for model in request["models"]:
        times = [models[model] for _ in range(rounds)]
        if kind == "noisy":
            times = [value * (10 if (rounds_done + i) % 3 == 0 else 1) * (1 + 0.001 * ((rounds_done + i) % 5))
                     for i, value in enumerate(times)]
        samples.append([-1] * rounds if kind == "negative" else times)
    rounds_done += rounds
    if kind == "quartiles":
        return {"quartiles": [[0.9 * times[0], times[0], 1.1 * times[0]] for times in samples]}
    return {"nanoseconds": samples}


def answer(request):
    if request["request"] == "open":
        return {} if kind == "unnamed" else {"engine": "fake", "version": "1", "processor": "none", "threads": request["threads"]}
    if request["request"] == "unload":
        del models[request["model"]]
        return {}
    return load(request) if request["request"] == "load" else measure(request)


for line in sys.stdin:
    reply = answer(json.loads(line))
    print(reply if isinstance(reply, str) else json.dumps(reply), flush=True)
