import Testing

@testable import LatchkeyMachine

/// When freed memory is given back to the system.
@Suite struct FreeMemoryTests {
    private static let mebibyte = 1 << 20
    private static let nothing = FreeMemory.Extent(usedByteCount: 0, freeByteCount: 0)

    private func extent(used: Int, free: Int) -> FreeMemory.Extent {
        FreeMemory.Extent(
            usedByteCount: used * Self.mebibyte,
            freeByteCount: free * Self.mebibyte
        )
    }

    @Test(arguments: [(0, 128, false), (0, 129, true), (400, 164, false), (400, 165, true)])
    func `much is free beyond 64 MiB, and beyond a quarter of what is used`(
        used: Int,
        free: Int,
        isWorth: Bool
    ) {
        #expect(extent(used: used, free: free).isWorthReturning(after: Self.nothing) == isWorth)
    }

    @Test func `memory that a return has left is not returned again before there is more`() {
        let left = extent(used: 100, free: 200)
        #expect(!extent(used: 100, free: 250).isWorthReturning(after: left))
        #expect(extent(used: 100, free: 251).isWorthReturning(after: left))
    }

    /// An import that replaces long values was looked at in its middle; 246 MiB stayed for 90.
    @Test func `when blocks were freed since, less than was left can be returned, issue 17`() {
        let left = extent(used: 360, free: 290)
        #expect(!extent(used: 270, free: 290).isWorthReturning(after: left))
        #expect(extent(used: 90, free: 155).isWorthReturning(after: left))
    }
}
