internal import CYajl
internal import Glibc

/// Memory for one parser, from a piece of the stack while that lasts.
///
/// YAJL allocates some small things for every text and frees them again. Handing out pieces of a
/// block, one after the other, costs a few instructions instead; what does not fit comes from
/// `malloc`, so nothing is bounded by the block. Pieces of the block are not reused: it ends with
/// the parser.
///
/// SAFETY: `@unsafe` because the maker of an arena keeps the block until the parser is freed.
@unsafe
struct ParserArena {
    /// YAJL's parser and lexer take about 500 bytes, and the end of every text a buffer of 2 KiB.
    ///
    /// An array in place, because `withUnsafeTemporaryAllocation` takes more than 1 KiB from the
    /// heap. Its elements are as aligned as what `malloc` returns.
    typealias Block = InlineArray<176, SIMD2<UInt64>>

    private let block: UnsafeMutableRawBufferPointer
    private var used = 0

    init(_ block: UnsafeMutableRawBufferPointer) {
        unsafe self.block = block
    }

    /// What YAJL calls, with the arena for its context, which must stay in its place.
    static func functions(_ arena: UnsafeMutablePointer<ParserArena>) -> yajl_alloc_funcs {
        unsafe yajl_alloc_funcs(
            malloc: { unsafe ParserArena.of($0).pointee.allocate($1) },
            realloc: { unsafe ParserArena.of($0).pointee.reallocate($1, $2) },
            free: { unsafe ParserArena.of($0).pointee.free($1) },
            ctx: arena
        )
    }

    private static func of(_ context: UnsafeMutableRawPointer?) -> UnsafeMutablePointer<Self> {
        guard let context = unsafe context else {
            preconditionFailure("YAJL calls back with the context that it was given.")
        }
        return unsafe context.assumingMemoryBound(to: Self.self)
    }

    private mutating func allocate(_ count: Int) -> UnsafeMutableRawPointer? {
        let rounded = (count + 15) & ~15
        guard unsafe rounded <= block.count - used, let start = unsafe block.baseAddress else {
            return unsafe malloc(count)
        }
        defer { unsafe used += rounded }
        return unsafe start + used
    }

    private func owns(_ piece: UnsafeMutableRawPointer) -> Bool {
        guard let start = unsafe block.baseAddress else {
            return false
        }
        return unsafe piece >= start && piece < start + block.count
    }

    private mutating func reallocate(
        _ piece: UnsafeMutableRawPointer?,
        _ count: Int
    ) -> UnsafeMutableRawPointer? {
        guard let piece = unsafe piece else {
            return unsafe allocate(count)
        }
        guard unsafe owns(piece), let start = unsafe block.baseAddress else {
            return unsafe realloc(piece, count)
        }
        // How long the piece was is not known, but it ended inside the block.
        let larger = unsafe allocate(count)
        let rest = unsafe block.count - (piece - start)
        if let larger = unsafe larger {
            unsafe memmove(larger, piece, min(count, rest))
        }
        return unsafe larger
    }

    private func free(_ piece: UnsafeMutableRawPointer?) {
        if let piece = unsafe piece, unsafe !owns(piece) {
            unsafe Glibc.free(piece)
        }
    }
}
