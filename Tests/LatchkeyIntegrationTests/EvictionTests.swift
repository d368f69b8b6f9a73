import LatchkeyTestSupport
import Testing

/// A full store that removes the properties that were not used for the longest time.
@Suite(.timeLimit(.minutes(3)), .serialized)
struct EvictionTests {
    /// Each removal was made in the call of the one before, until the stack ended.
    @Test(arguments: TransferVariant.all)
    func `a long value takes the place of many short ones`(
        variant: TransferVariant
    ) async throws {
        let flags = variant.flags + ["--eviction", "lru", "--max-bytes", "200000"]
        try await Deployment.inProcess.serve(flags) { site in
            let lines = manyLines(0..<20_000) { _ in "1" }
            try site.imported(lines, query: "?batch=1000")
            let value = "\"\(String(repeating: "a", count: 100_000))\""
            #expect(try site.ask("PUT", "/v1/properties/long", value).status == 201)
            #expect(try site.ask("GET", "/v1/properties/long").text == value)
            #expect(try site.ask("GET", "/v1/properties/k100000").status == 404)
            #expect(try site.ask("GET", "/v1/properties/k119999").status == 200)
        }
    }

    @Test(arguments: TransferVariant.all)
    func `the oldest property can grow, and what fits nowhere removes nothing`(
        variant: TransferVariant
    ) async throws {
        let flags = variant.flags + ["--eviction", "lru", "--max-bytes", "100"]
        try await Deployment.inProcess.serve(flags) { site in
            func put(_ name: String, _ count: Int) throws -> Int {
                let value = String(repeating: "1", count: count)
                return try site.ask("PUT", "/v1/properties/\(name)", value).status
            }
            for name in ["a", "b", "c", "d", "e", "f", "g", "h", "i"] {
                #expect(try put(name, 10) == 201)
            }
            #expect(try put("a", 30) == 204)
            #expect(try site.ask("GET", "/v1/properties/b").status == 404)
            #expect(try put("z", 200) == 507)
            #expect(try site.ask("GET", "/v1/properties/a").status == 200)
            #expect(try site.ask("GET", "/v1/properties/i").status == 200)
        }
    }
}
