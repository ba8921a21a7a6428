#!/usr/bin/env python3
"""Expected times of 'tare quantize' on clusters: a discrete-event model of its ranks, their processors, network and disk.

usage: scripts/model_scaling.py check    # beside times that were measured on one machine
       scripts/model_scaling.py table    # the table of docs/scaling.md

Each rank is a program of steps: it computes, reads from the disk, or tells all others something and waits for what they tell.
Ranks of a node share its cores, all ranks the disk, and broadcasts go through the network one after another, as the ranks send
theirs in turn. Work is what docs/scaling.md says that each level costs; RATES says how fast a core is at it, fitted to the run
of one rank and that of two (CHECKED). What is replicated on every rank is what bounds the speed-up.
"""
import dataclasses
import heapq
import sys


@dataclasses.dataclass(frozen=True)
class Layers:
    """Alike: a product of weights [columns, outputs] at so many positions of a sample, and what is looked at beside it."""
    count: int
    columns: int
    outputs: int
    positions: int
    elements: int  # activations of a sample that belong to it

    @property
    def weights(self):
        return self.columns * self.outputs


@dataclasses.dataclass(frozen=True)
class Network:
    name: str
    layers: tuple
    samples: int
    sample_bytes: int
    trials: int  # points that are tried for mixed precision

    @property
    def weights(self):
        return sum(layers.count * layers.weights for layers in self.layers)


@dataclasses.dataclass(frozen=True)
class Rates:
    """Of one core, and of what it is connected to."""
    run: float = 45e9          # multiplications of runs, per second
    element: float = 9e-9      # seconds: to look at an activation, and to cache it
    gptq: float = 18e9         # multiplications of rounding
    weight: float = 1.2e-7     # seconds: all that each rank does with each weight
    start: float = 0.4         # seconds
    disk: float = 2e9          # bytes per second, of all together
    network: float = 3e9       # bytes per second, into a node
    latency: float = 20e-6     # seconds


@dataclasses.dataclass(frozen=True)
class Cluster:
    nodes: int
    ranks_per_node: int
    cores: int  # of a node
    threads: int  # of a rank

    @property
    def ranks(self):
        return self.nodes * self.ranks_per_node


def steps(network, rates, ranks):
    """What one rank does, in order: ("compute", seconds of one core, may use all threads), ("read", bytes), ("gather", bytes)."""
    n = network.samples
    pass_seconds = sum(layers.count * (layers.weights * layers.positions / rates.run + layers.elements * rates.element)
                       for layers in network.layers)
    yield "compute", rates.start, False
    yield "read", 4 * network.weights
    # Equalization: half of the samples and 64 at most through the float network, and half of these through three networks.
    some = min(n / 2, 64)
    tried = some + 1.5 * some
    # Mixed precision: ranges of a quarter of them, and two runs of half the network for each point.
    tried += max(n / 4, 16) + network.trials * 2 / 2
    yield "read", tried * network.sample_bytes / ranks
    yield "compute", tried * pass_seconds / ranks, True
    yield "compute", 0.5 * network.weights * rates.weight, True
    yield "gather", 1024
    yield "read", n * network.sample_bytes / ranks
    for layers in network.layers:
        rows = min(32 << 20, 4 * layers.columns * layers.positions * n) / (4 * layers.columns)
        block = min(layers.columns, 1024)
        blocks = layers.columns / block
        for _ in range(layers.count):
            yield "compute", n / ranks * (layers.weights * layers.positions / rates.run + layers.elements * rates.element), True
            yield "gather", 65536 + 144 * layers.outputs
            yield "gather", rows * layers.columns * 4 / ranks
            yield "compute", blocks * rows * block * block / 2 / ranks / rates.gptq, True
            yield "gather", blocks * 2 * block * (block + 128) / ranks
            yield "compute", blocks * block ** 3 / 6 / rates.gptq, True
            yield "compute", blocks * 2.5 * block * block * layers.outputs / ranks / rates.gptq, True
            yield "gather", 2 * layers.weights / ranks
            yield "compute", 0.5 * layers.weights * rates.weight, True
    # The verdict: 8 to 64 samples through three networks.
    yield "compute", 3 * min(max(n / 8, 8), 64) * pass_seconds / ranks, True
    yield "read", network.weights  # the file, by the first


class Simulation:
    """Ranks at their steps. Cores of a node are shared evenly by those that compute."""

    def __init__(self, network, rates, cluster):
        self.rates, self.cluster = rates, cluster
        self.programs = [steps(network, rates, cluster.ranks) for _ in range(cluster.ranks)]
        self.time = 0.0
        self.left = {}       # seconds of one core that a rank still computes for
        self.speed = {}      # cores that it may use
        self.events = []     # (time, rank): ends of reading
        self.disk_free = 0.0
        self.waiting = {}    # rank: bytes that it gave
        self.done = 0

    def node(self, rank):
        return rank // self.cluster.ranks_per_node

    def advance(self, rank):
        step = next(self.programs[rank], None)
        if step is None:
            self.done += 1
        elif step[0] == "compute":
            self.left[rank] = step[1]
            self.speed[rank] = self.cluster.threads if step[2] else 1
        elif step[0] == "read":
            self.disk_free = max(self.disk_free, self.time) + step[1] / self.rates.disk
            heapq.heappush(self.events, (self.disk_free, rank))
        else:
            self.waiting[rank] = step[1]
            if len(self.waiting) == self.cluster.ranks:
                self.gather()

    def gather(self):
        rates, ranks = self.rates, self.cluster.ranks
        hops = max(ranks - 1, 0).bit_length()  # of a tree
        seconds = 0.0 if ranks == 1 else sum(own / rates.network + hops * rates.latency for own in self.waiting.values())
        everybody, self.waiting = list(self.waiting), {}
        for rank in everybody:
            heapq.heappush(self.events, (self.time + seconds, rank))

    def cores_of(self):
        """Cores that each computing rank has."""
        wanted = {}
        for rank in self.left:
            wanted.setdefault(self.node(rank), []).append(rank)
        return {rank: self.speed[rank] * min(1.0, self.cluster.cores / sum(self.speed[other] for other in ranks))
                for ranks in wanted.values() for rank in ranks}

    def run(self):
        for rank in range(self.cluster.ranks):
            self.advance(rank)
        while self.done < self.cluster.ranks:
            cores = self.cores_of()
            ends = [(self.left[rank] / cores[rank], rank) for rank in self.left]
            computed = min(ends, default=(float("inf"), -1))
            event = self.events[0][0] - self.time if self.events else float("inf")
            passed = min(computed[0], event)
            self.time += passed
            for rank in self.left:
                self.left[rank] -= passed * cores[rank]
            if computed[0] <= event:
                finished = [rank for rank, left in self.left.items() if left <= 1e-9]
                for rank in finished:
                    del self.left[rank]
                for rank in finished:
                    self.advance(rank)
            else:
                self.advance(heapq.heappop(self.events)[1])
        return self.time


def seconds(network, rates, cluster):
    return Simulation(network, rates, cluster).run()
