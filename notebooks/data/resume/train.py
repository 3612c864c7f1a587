"""Trains a small classifier of Debian package descriptions: pure Python, the same numbers on every run.

Words are hashed to features; a softmax layer learns the section of a package by stochastic gradient descent with momentum,
dropout of features, shuffled batches and a learning rate that warms up and then follows a cosine. That is little, and all of
it has state: what is not restored from the checkpoint shows in the log.

    train.py --log whole.csv                                        60 steps, without interruption
    train.py --log first.csv --checkpoint c.json --kill-after 33    saved every 10 steps, then gone as if by a power cut
    train.py --log rest.csv --resume c.json                         the rest
    train.py --log rest.csv --resume c.json --forget rng            ... with a planted mistake: rng, data-order or scheduler
"""
import argparse
import json
import math
import os
import pathlib
import random
import re
import signal
import zlib

TEXTS = pathlib.Path(__file__).resolve().parent.parent / "debian-sections" / "texts.tsv"
FEATURES, BATCH, KEEP = 512, 16, 0.8
LEARNING_RATE, WARM_UP, MOMENTUM = 0.5, 8, 0.9


def read_examples():
    """Features (places of words) and class of each text, and the number of classes."""
    rows = [line.rstrip("\n").split("\t") for line in TEXTS.open(encoding="utf-8")]
    labels = sorted({row[1] for row in rows})
    words = [sorted({zlib.crc32(word.encode()) % FEATURES for word in re.findall(r"[a-z]{3,}", row[2].lower())}) for row in rows]
    return list(zip(words, [labels.index(row[1]) for row in rows])), len(labels)


class Sampler:
    """Shuffles all examples for each epoch, and hands them out batch by batch."""

    def __init__(self, examples):
        self.random, self.examples, self.order, self.position = random.Random(1), examples, [], 0

    def batch(self):
        if self.position + BATCH > len(self.order):
            self.order, self.position = list(range(self.examples)), 0
            self.random.shuffle(self.order)
        self.position += BATCH
        return self.order[self.position - BATCH : self.position]

    def state(self):
        return {"random": self.random.getstate(), "order": self.order, "position": self.position}

    def restore(self, state):
        self.random.setstate(generator_state(state["random"]))
        self.order, self.position = state["order"], state["position"]


class Scheduler:
    """Warms up linearly, then follows half a cosine down to nothing."""

    def __init__(self, steps):
        self.steps, self.calls = steps, 0

    def rate(self):
        self.calls += 1
        if self.calls <= WARM_UP:
            return LEARNING_RATE * self.calls / WARM_UP
        return LEARNING_RATE * 0.5 * (1 + math.cos(math.pi * (self.calls - WARM_UP) / (self.steps - WARM_UP + 1)))


class Training:
    def __init__(self, steps):
        self.examples, self.classes = read_examples()
        self.step = 0
        self.weights = [[0.0] * self.classes for _ in range(FEATURES)]
        self.velocity = [[0.0] * self.classes for _ in range(FEATURES)]
        self.sampler, self.scheduler, self.dropout = Sampler(len(self.examples)), Scheduler(steps), random.Random(2)

    def advance(self):
        """One step; the scalars that are logged."""
        self.step += 1
        batch, rate = self.sampler.batch(), self.scheduler.rate()
        kept = [self.dropout.random() < KEEP for _ in range(FEATURES)]
        loss, gradient = 0.0, {}
        for place in batch:
            words, label = self.examples[place]
            words = [word for word in words if kept[word]]
            scores = [sum(self.weights[word][c] for word in words) / KEEP for c in range(self.classes)]
            highest = max(scores)
            odds = [math.exp(score - highest) for score in scores]
            total = sum(odds)
            loss -= math.log(odds[label] / total) / BATCH
            for word in words:
                slope = gradient.setdefault(word, [0.0] * self.classes)
                for c in range(self.classes):
                    slope[c] += (odds[c] / total - (c == label)) / (KEEP * BATCH)
        for word, velocity in enumerate(self.velocity):
            slope = gradient.get(word, [0.0] * self.classes)
            for c in range(self.classes):
                velocity[c] = MOMENTUM * velocity[c] + slope[c]
                self.weights[word][c] -= rate * velocity[c]
        return {"loss": loss, "lr": rate, "batch": zlib.crc32(repr(batch).encode()), "dropout": sum(kept) / FEATURES}

    def save(self, path):
        """Whole or not at all: a checkpoint that is cut is worse than the one before."""
        state = {
            "step": self.step, "model": self.weights, "optimizer": self.velocity, "scheduler": self.scheduler.calls,
            "sampler": self.sampler.state(), "rng": self.dropout.getstate(),
        }
        temporary = f"{path}.part"
        with open(temporary, "w", encoding="utf-8") as file:
            json.dump(state, file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)

    def restore(self, path, forget):
        with open(path, encoding="utf-8") as file:
            state = json.load(file)
        self.step, self.weights, self.velocity = state["step"], state["model"], state["optimizer"]
        if forget != "scheduler":
            self.scheduler.calls = state["scheduler"]
        if forget != "data-order":
            self.sampler.restore(state["sampler"])
        if forget != "rng":
            self.dropout.setstate(generator_state(state["rng"]))


def generator_state(state):
    """JSON has no tuples."""
    return state[0], tuple(state[1]), state[2]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--log", required=True)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--checkpoint")
    parser.add_argument("--save-every", type=int, default=10)
    parser.add_argument("--kill-after", type=int)
    parser.add_argument("--resume")
    parser.add_argument("--forget", choices=["rng", "data-order", "scheduler"])
    options = parser.parse_args()

    training = Training(options.steps)
    if options.resume:
        training.restore(options.resume, options.forget)
    for path in filter(None, [options.log, options.checkpoint]):
        os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    with open(options.log, "w", encoding="utf-8") as log:
        log.write("step,loss,lr,batch,dropout\n")
        while training.step < options.steps:
            scalars = training.advance()
            # repr gives the shortest digits that read back to the same number.
            log.write(",".join([str(training.step), *map(repr, scalars.values())]) + "\n")
            log.flush()
            if training.step % 20 == 0:
                print(f"step {training.step}: loss {scalars['loss']:.4f}, lr {scalars['lr']:.4f}")
            if options.checkpoint and training.step % options.save_every == 0:
                training.save(options.checkpoint)
            if training.step == options.kill_after:
                os.kill(os.getpid(), getattr(signal, "SIGKILL", signal.SIGTERM))


if __name__ == "__main__":
    main()
