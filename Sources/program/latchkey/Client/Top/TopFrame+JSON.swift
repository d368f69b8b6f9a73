internal import LatchkeyClient

/// The same figures for programs.
extension TopFrame {
    /// Rates are per second, and times are in seconds.
    var json: JSONValue {
        let rates = Self.classes.map { digit, name in
            (name, Self.number(rate(later.requests[digit], earlier.requests[digit])))
        }
        let gauges = [
            ("properties", "latchkey_store_properties"), ("bytes", "latchkey_store_bytes"),
            ("watchers", "latchkey_watchers"), ("connections", "latchkey_http_connections"),
            ("memory", "process_resident_memory_bytes"),
        ]
        return JSONValue(
            object: [
                ("url", JSONValue(string: origin)), ("requests", JSONValue(object: rates)),
            ] + gauges.map { ($0, Self.number(gauge($1))) } + [
                ("strategy", later.strategy.map(JSONValue.init(string:)) ?? Self.number(nil)),
                ("strategies", JSONValue(array: strategies)),
            ] + (busiest.map { [("traffic", $0)] } ?? [])
        )
    }

    private var strategies: [JSONValue] {
        let (later, earlier) = (later.locks.serving, earlier.locks.serving)
        return later.keys.sorted().map { name in
            let use = later[name, default: LockUse()] - earlier[name, default: LockUse()]
            let share = use.operations > 0 ? min(1, use.contended / use.operations) : nil
            return JSONValue(object: [
                ("name", JSONValue(string: name)),
                ("acquisitions", Self.number(rate(use.operations, 0))),
                ("contended", Self.number(share)),
                ("wait99", Self.number(use.waitBound(0.99))),
                ("hold99", Self.number(use.holdBound(0.99))),
            ])
        }
    }

    /// A number; null for none, and for one that JSON does not have.
    private static func number(_ value: Double?) -> JSONValue {
        let text = value.flatMap { $0.isFinite ? "\($0)" : nil } ?? "null"
        return JSONValue(number: text)
    }
}
