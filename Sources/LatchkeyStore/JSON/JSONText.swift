internal import CYajl

/// Checks that bytes are one JSON text (RFC 8259).
///
/// It builds no values: the store keeps the bytes that were sent.
///
/// YAJL reads the text; the checks that it lacks are added here. Its check of UTF-8 lets
/// overlong forms through, so the standard library looks first. It skips a byte order mark and
/// takes vertical tabs and form feeds for white space, which RFC 8259 does not. And its nesting is
/// bounded only by memory, so the depth is counted.
package enum JSONText {
    /// Checks a text whose arrays and objects may nest this deep.
    ///
    /// A scalar has depth 0.
    package static func check(
        _ bytes: UnsafeRawBufferPointer,
        depthMax: Int
    ) throws(InvalidJSON) {
        let text = unsafe bytes.bindMemory(to: UInt8.self)
        if unsafe isPlain(text) || isCommon(text, depthMax: depthMax) {
            return
        }
        try unsafe checkClosely(text, depthMax: depthMax)
    }

    /// The same of any text, by YAJL.
    static func checkClosely(
        _ text: UnsafeBufferPointer<UInt8>,
        depthMax: Int
    ) throws(InvalidJSON) {
        do {
            _ = try unsafe UTF8Span(validating: text.span)
        } catch {
            throw .notUTF8(offset: error.byteOffsets.lowerBound)
        }
        let isMarked =
            unsafe text.count >= 3 && text[0] == 0xEF && text[1] == 0xBB && text[2] == 0xBF
        let separator = unsafe text.firstIndex { $0 == 0x0B || $0 == 0x0C }
        if let offset = isMarked ? 0 : separator {
            throw .malformed(offset: offset)
        }
        var nesting = Nesting(depth: 0, depthMax: depthMax)
        let status = unsafe withUnsafeMutablePointer(to: &nesting) { nesting in
            unsafe withUnsafePointer(to: makeCallbacks()) { callbacks in
                unsafe parse(text, callbacks, nesting)
            }
        }
        switch status {
        case .complete:
            return
        case .cancelled:
            throw .tooDeep
        case .outOfMemory:
            throw .outOfMemory
        case .malformed(let offset):
            throw .malformed(offset: offset)
        }
    }

    private struct Nesting {
        var depth: Int
        let depthMax: Int

        mutating func begin() -> Int32 {
            depth += 1
            return depth <= depthMax ? 1 : 0
        }

        mutating func end() -> Int32 {
            depth -= 1
            return 1
        }
    }

    private enum Status {
        case complete
        case cancelled
        case outOfMemory
        case malformed(offset: Int)
    }

    /// The only callbacks are those that count the nesting: YAJL skips the others.
    private static func makeCallbacks() -> yajl_callbacks {
        var callbacks = yajl_callbacks()
        unsafe callbacks.yajl_start_map = { unsafe JSONText.nesting($0).pointee.begin() }
        unsafe callbacks.yajl_end_map = { unsafe JSONText.nesting($0).pointee.end() }
        unsafe callbacks.yajl_start_array = { unsafe JSONText.nesting($0).pointee.begin() }
        unsafe callbacks.yajl_end_array = { unsafe JSONText.nesting($0).pointee.end() }
        return callbacks
    }

    private static func nesting(
        _ context: UnsafeMutableRawPointer?
    ) -> UnsafeMutablePointer<Nesting> {
        guard let context = unsafe context else {
            preconditionFailure("YAJL calls back with the context that it was given")
        }
        return unsafe context.assumingMemoryBound(to: Nesting.self)
    }

    private static func parse(
        _ text: UnsafeBufferPointer<UInt8>,
        _ callbacks: UnsafePointer<yajl_callbacks>,
        _ nesting: UnsafeMutablePointer<Nesting>
    ) -> Status {
        var block = ParserArena.Block(repeating: .zero)
        return unsafe withUnsafeMutableBytes(of: &block) { block in
            var arena = unsafe ParserArena(block)
            return unsafe withUnsafeMutablePointer(to: &arena) { arena in
                var functions = unsafe ParserArena.functions(arena)
                guard let parser = unsafe yajl_alloc(callbacks, &functions, nesting) else {
                    return .outOfMemory
                }
                defer { unsafe yajl_free(parser) }
                return unsafe parse(text, parser)
            }
        }
    }

    private static func parse(
        _ text: UnsafeBufferPointer<UInt8>,
        _ parser: yajl_handle
    ) -> Status {
        var status = unsafe yajl_parse(parser, text.baseAddress, text.count)
        let isRead = status == yajl_status_ok
        if isRead {
            // Says that no more follows, which ends a number and finds what is left open.
            status = unsafe yajl_complete_parse(parser)
        }
        switch status {
        case yajl_status_ok:
            return .complete
        case yajl_status_client_canceled:
            return .cancelled
        default:
            // The end is one more byte to YAJL, which counts from there.
            let offset = isRead ? text.count : Int(unsafe yajl_get_bytes_consumed(parser))
            return .malformed(offset: min(text.count, offset))
        }
    }
}

/// Why bytes are not a JSON text that the store takes.
package enum InvalidJSON: Error, Hashable {
    /// Not JSON, or something follows it; `offset` bytes had been read when that was clear.
    case malformed(offset: Int)
    /// Not UTF-8 from this byte on.
    case notUTF8(offset: Int)
    case tooDeep
    case outOfMemory
}
