import LatchkeySync

// The same program as `WithMutex`. `Benchmarks/sizes.py` compares their sizes.

let scores = Synchronized<[String: Int], AdaptiveStrategy>([:])
for name in CommandLine.arguments {
    scores.write { $0[name, default: 0] += 1 }
}
print(scores.read { $0.count })
