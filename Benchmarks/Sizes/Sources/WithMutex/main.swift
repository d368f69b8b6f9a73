import Synchronization

// The same program as `WithAdaptive`. `Benchmarks/sizes.py` compares their sizes.

let scores = Mutex<[String: Int]>([:])
for name in CommandLine.arguments {
    scores.withLock { $0[name, default: 0] += 1 }
}
print(scores.withLock { $0.count })
