/// A recording of live operations, read from a file.
package struct Trace: Sendable, Equatable {
    package let header: TraceHeader
    /// In the order of their times.
    package let records: [TraceRecord]
    /// Whether the file ends in the middle of a record, which is left out.
    ///
    /// The file of a service that was killed does.
    package let isCutOff: Bool

    /// Reads the bytes of a file.
    package init(_ bytes: [UInt8]) throws(InvalidTrace) {
        let header = try TraceHeader(bytes[...].prefix(TraceHeader.byteCount))
        let (count, rest) = (bytes.count - TraceHeader.byteCount)
            .quotientAndRemainder(dividingBy: TraceRecord.byteCount)
        guard count > 0 else {
            throw .empty
        }
        var records: [TraceRecord] = []
        records.reserveCapacity(count)
        for index in 0..<count {
            let place = TraceHeader.byteCount + index * TraceRecord.byteCount
            guard let record = TraceRecord(bytes[place..<place + TraceRecord.byteCount]) else {
                throw .unknownKind(record: index + 1)
            }
            if let last = records.last, record.nanoseconds < last.nanoseconds {
                throw .runsBackwards(record: index + 1)
            }
            records.append(record)
        }
        self.header = header
        self.records = records
        isCutOff = rest > 0
    }

    /// From the first operation to the last one.
    package var seconds: Double {
        guard let first = records.first, let last = records.last else { return 0 }
        return Double(last.nanoseconds - first.nanoseconds) / 1e9
    }
}
