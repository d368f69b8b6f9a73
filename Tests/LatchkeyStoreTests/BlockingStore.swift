import LatchkeySync
import LatchkeyTestSupport
import Testing

@testable import LatchkeyStore

/// A store whose operations wait for their completion, so that a test reads from top to bottom.
final class BlockingStore<Guard: Strategy>: Sendable {
    let base: PropertyStore<Guard>

    init(stripeCount: Int, strategy: () -> Guard) {
        base = PropertyStore(
            limits: StoreLimits(),
            stripeCount: Guard.traits.blocksCaller ? stripeCount : 1,
            strategy: strategy
        )
    }

    convenience init(stripeCount: Int) where Guard: NamedStrategy {
        self.init(stripeCount: stripeCount) { Guard() }
    }

    private func wait<Result: Sendable>(
        _ submit: (@escaping @Sendable (Result) -> Void) throws(BacklogFull) -> Void
    ) -> Result {
        let result = Synchronized<Result?, LockStrategy>(nil)
        let isDone = Gate()
        do {
            try submit { value in
                result.write { $0 = value }
                isDone.open()
            }
        } catch {
            preconditionFailure("one write at a time does not fill a backlog")
        }
        isDone.pass()
        guard let value = result.read({ $0 }) else {
            preconditionFailure("the completion brought the result")
        }
        return value
    }

    private func with<Result>(_ name: String, _ body: (PropertyName) -> Result) -> Result {
        var name = name
        return name.withUTF8 { bytes in
            guard let name = try? unsafe PropertyName(borrowing: UnsafeRawBufferPointer(bytes))
            else {
                preconditionFailure("the test's names are valid")
            }
            return body(name)
        }
    }

    /// Adds 1 and returns the revision.
    @discardableResult
    func increment(_ name: String) -> Revision {
        with(name) { name in
            let result: IncrementResult = wait { (completion) throws(BacklogFull) in
                try base.increment(name, by: 1, conditions: .none, completion: completion)
            }
            guard case .incremented(let property) = result else {
                Issue.record("\(result)")
                return 0
            }
            return property.revision
        }
    }

    func delete(_ name: String) {
        with(name) { name in
            let result: DeleteResult = wait { (completion) throws(BacklogFull) in
                try base.delete(name, conditions: .none, completion: completion)
            }
            guard case .deleted = result else {
                Issue.record("\(result)")
                return
            }
        }
    }

    func property(_ name: String) -> Property? {
        with(name) { name in wait { base.get(name, completion: $0) } }
    }

    func value(_ name: String) -> String? {
        property(name).map(text)
    }

    func stripe(of name: String) -> Int {
        with(name) { base.index($0) }
    }

    func text(_ property: Property) -> String {
        unsafe String(decoding: property.valueBytes, as: UTF8.self)
    }

    func list(prefix: String = "", after: String? = nil, limit: Int) -> Page {
        let prefixBytes = Array(prefix.utf8)
        let afterBytes = after.map { Array($0.utf8) }
        return unsafe prefixBytes.withUnsafeBytes { prefix in
            unsafe (afterBytes ?? []).withUnsafeBytes { after in
                let request = unsafe PageRequest(
                    prefix: prefix,
                    after: afterBytes == nil ? nil : after,
                    limit: limit
                )
                return wait { base.list(request, completion: $0) }
            }
        }
    }
}
