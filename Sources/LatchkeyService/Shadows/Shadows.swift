internal import LatchkeyHTTP
internal import LatchkeyStore

/// The stores that are given a share of the live operations, each under a strategy of its own.
///
/// **Design.** The thread that serves an operation applies it to the shadows too, when it is done
/// with the serving store, so that the shadows meet the traffic as it is. What it needs is copied
/// before: an operation that is served later may give the request's memory back at any time. Their
/// results are thrown away, they count their own revisions, and they refuse for themselves, so no
/// answer depends on them. What they cost is time of that thread.
///
/// Each sample begins with another shadow, so that none always comes first.
struct Shadows: Sendable {
    private let stores: [Shadow]
    private let sampler: ShadowSampler

    /// The shadows of a service, `nil` if it has none.
    init?(_ stores: [Shadow], _ sampler: ShadowSampler) {
        guard !stores.isEmpty else { return nil }
        self.stores = stores
        self.sampler = sampler
    }

    /// Copies the operation of a request that is about to be served, if it is sampled.
    func sample(_ call: Call, _ operation: ShadowOperation, _ name: PropertyName) -> Sampled? {
        unsafe sample(
            call,
            operation,
            name,
            value: UnsafeRawBufferPointer(start: nil, count: 0)
        )
    }

    /// The same for a put of a value.
    func samplePut(
        _ call: Call,
        _ name: PropertyName,
        value: UnsafeRawBufferPointer
    ) -> Sampled? {
        unsafe sample(call, .put, name, value: value)
    }

    private func sample(
        _ call: Call,
        _ operation: ShadowOperation,
        _ name: PropertyName,
        value: UnsafeRawBufferPointer
    ) -> Sampled? {
        draw(call).map { number in
            let copy = unsafe Property(name: name, value: value)
            return Sampled(shadows: self, number: number) { shadow in
                shadow.apply(operation, PropertyName(name, of: copy), copy)
            }
        }
    }

    /// The same for a listing, whose request borrows from the owners' bytes.
    func sample(_ call: Call, _ request: PageRequest, owners: [OwnedBytes]) -> Sampled? {
        draw(call).map { number in
            Sampled(shadows: self, number: number) { $0.list(request, owners) }
        }
    }

    private func draw(_ call: Call) -> UInt64? {
        sampler.draw(at: call.exchange.startedNanoseconds)
    }

    /// A sampled operation, to be applied when the request has been served.
    struct Sampled {
        fileprivate let shadows: Shadows
        fileprivate let number: UInt64
        fileprivate let body: (Shadow) -> Void

        func apply() {
            let stores = shadows.stores
            let first = Int(truncatingIfNeeded: number) % stores.count
            for index in stores.indices {
                body(stores[(first + index) % stores.count])
            }
        }
    }
}

/// What a shadow is asked to do to a property.
///
/// Without the request's conditions: they name revisions of the serving store.
enum ShadowOperation: Sendable {
    case get
    case put
    case delete
    case increment(by: Int64)
}

/// A store under a strategy that is tried out.
///
/// **Design.** Closures, not a protocol: made where the strategy is known, they are compiled for
/// it, as the serving store's are. The witnesses of a generic type would not be, and would hold the
/// guard for longer than the serving store does.
struct Shadow: Sendable {
    /// Applies an operation to the property of this name.
    ///
    /// The copy keeps the name's bytes, and has the value of a put.
    let apply:
        @Sendable (_ operation: ShadowOperation, _ name: PropertyName, _ copy: Property) -> Void

    /// Lists properties.
    ///
    /// The request's bytes are the owners'.
    let list: @Sendable (_ request: PageRequest, _ owners: [OwnedBytes]) -> Void
}
