internal import Foundation
internal import LatchkeyComparison
internal import LatchkeyTrace

/// The file of `compare --trace`.
enum TraceFile {
    private static let byteCountMax = 1 << 30

    /// Reads a trace for a replay at a multiple of its speed.
    static func read(_ path: String, speed: Double) throws(ComparisonError) -> ReplayedTrace {
        let file = unsafe fopen(path, "rb")
        guard let file = unsafe file else {
            throw ComparisonError("the trace '\(path)' cannot be read: \(reason).")
        }
        defer { unsafe fclose(file) }
        var bytes: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 1 << 16)
        while bytes.count <= byteCountMax,
            case let count = unsafe fread(&piece, 1, piece.count, file), count > 0
        {
            bytes += piece[..<count]
        }
        guard bytes.count <= byteCountMax else {
            throw ComparisonError("the trace '\(path)' is larger than 1 GiB.")
        }
        guard unsafe ferror(file) == 0 else {
            throw ComparisonError("the trace '\(path)' cannot be read: \(reason).")
        }
        do throws(InvalidTrace) {
            let name = URL(fileURLWithPath: path).lastPathComponent
            return ReplayedTrace(try Trace(bytes), file: name, speed: speed)
        } catch {
            throw ComparisonError("the trace '\(path)' \(error.message)")
        }
    }

    /// The system's words for its last error.
    private static var reason: String {
        unsafe strerror(errno).map { unsafe String(cString: $0) } ?? "error \(errno)"
    }
}
