// Classes of ASCII characters; no other byte belongs to one.

func isLowercase(_ byte: UInt8) -> Bool { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte) }

func isUppercase(_ byte: UInt8) -> Bool { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) }

func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }

func isLetterOrDigit(_ byte: UInt8) -> Bool { isLowercase(byte) || isUppercase(byte) || isDigit(byte) }

/// Neither a space nor a control character.
func isVisible(_ byte: UInt8) -> Bool { (0x21...0x7E).contains(byte) }

/// A space, a tab or a character of a line's end: what XML and canonical header fields take for white space.
func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D }

/// As ``isBlank(_:)``, with the vertical tab and the form feed.
func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09...0x0D).contains(byte) }
