internal import LatchkeyJSON

/// One line of an export: `{"name":…,"value":…,"revision":…,"created":…,"ttl":…}`, and the last
/// one, `{"end":true,"count":…,"revision":…}`, without which an export is incomplete.
package enum ExportLine {
    /// Appends the line of a property, without allocating.
    ///
    /// `ttl` is the rest of the property's time, at least a millisecond, so that every line can be
    /// imported.
    package static func append(_ property: Property, at time: Timestamp, to bytes: inout [UInt8]) {
        append(#"{"name":"#, &bytes)
        unsafe JSONText.append(string: property.nameBytes, to: &bytes)
        append(#","value":"#, &bytes)
        unsafe JSONText.append(oneLine: property.valueBytes, to: &bytes)
        append(#","revision":"#, &bytes)
        append(property.revision, &bytes)
        append(#","created":"#, &bytes)
        append(property.created, &bytes)
        if property.isMortal {
            let left = max(1, property.expiry.milliseconds - time.milliseconds)
            append(#","ttl":"#, &bytes)
            append(UInt64(left / 1000), &bytes)
            bytes.append(UInt8(ascii: "."))
            for unit: Int64 in [100, 10, 1] {
                bytes.append(UInt8(ascii: "0") + UInt8(left / unit % 10))
            }
        }
        append("}\n", &bytes)
    }

    /// Appends the line of a property for a replica, which keeps the bytes of the value and the
    /// time when it expires.
    ///
    /// A value with line ends is written as a string that contains its text.
    package static func append(exactly property: Property, to bytes: inout [UInt8]) {
        append(#"{"name":"#, &bytes)
        unsafe JSONText.append(string: property.nameBytes, to: &bytes)
        let value = unsafe property.valueBytes
        if unsafe value.contains(where: { $0 == 0x0A || $0 == 0x0D }) {
            append(#","text":"#, &bytes)
            unsafe JSONText.append(string: value, to: &bytes)
        } else {
            append(#","value":"#, &bytes)
            unsafe bytes.append(contentsOf: value)
        }
        append(#","revision":"#, &bytes)
        append(property.revision, &bytes)
        append(#","created":"#, &bytes)
        append(property.created, &bytes)
        if property.isMortal {
            append(#","expires":"#, &bytes)
            append(UInt64(max(0, property.expiry.milliseconds)), &bytes)
        }
        append("}\n", &bytes)
    }

    /// Appends the last line, after `count` others.
    package static func appendEnd(
        count: UInt64,
        revision: Revision,
        to bytes: inout [UInt8]
    ) {
        append(#"{"end":true,"count":"#, &bytes)
        append(count, &bytes)
        append(#","revision":"#, &bytes)
        append(revision, &bytes)
        append("}\n", &bytes)
    }

    private static func append(_ text: StaticString, _ bytes: inout [UInt8]) {
        unsafe bytes.append(contentsOf: UnsafeRawBufferPointer(text))
    }

    private static func append(_ number: UInt64, _ bytes: inout [UInt8]) {
        DecimalText.append(number, to: &bytes)
    }
}
