import LatchkeyLab

// Which lock for this cache? The cache's own operations, under Latchkey's strategies and one more.

let lookups = Workload("cache", value: LRUCache<String>(capacity: 512)) { cache, operation in
    // A look at an entry that leaves the order of use as it is.
    operation.keep(cache.peek(operation.key))
} write: { cache, operation in
    if cache.use(operation.key) == nil {
        cache.insert("entry \(operation.key)", for: operation.key)
    }
} check: { cache, _ in
    cache.isConsistent
}

Lab(lookups)
    .strategy("yielding", YieldingLock.self)
    .run()
