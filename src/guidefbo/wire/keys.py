"""Ed25519 keys: who signs a letter, and who checks the signature.

The package `cryptography` is loaded when a key is used, not when this is imported.
"""

import base64
import binascii
import os
import stat
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from guidefbo.core.checks import shown
from guidefbo.core.errors import FedBOError, SettingsError, WireError
from guidefbo.core.files import InputError, OutputError, read_file, write_atomically

PUBLIC_BYTES = 32
"""Length of a public key."""
SIGNATURE_BYTES = 64
"""Length of a signature."""
MAX_PEM = 4096
"""Longest file of a key that is read."""


class KeyFileError(FedBOError, ValueError):
    """A file does not hold a key that can be used."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SigningKey:
    """A private key; its text never shows it."""

    public: str
    """The public half: base64 of its 32 bytes."""
    _private: Any = field(repr=False, compare=False)

    @classmethod
    def make(cls) -> Self:
        """Return a new key, drawn by the system."""
        return cls._of(_ed25519().Ed25519PrivateKey.generate())

    @classmethod
    def from_pem(cls, pem: bytes) -> Self:
        """Return the key in an unencrypted PKCS8 text."""
        kinds = _ed25519()
        from cryptography.hazmat.primitives.serialization import load_pem_private_key

        try:
            private = load_pem_private_key(pem, password=None)
        except (ValueError, TypeError) as error:
            raise KeyFileError(
                "Expected an Ed25519 private key as unencrypted PEM, got something "
                "else."
            ) from error
        except Exception as error:
            # An algorithm unknown to this build has an error class of its own.
            raise KeyFileError(f"The key cannot be read: {error}.") from error
        if not isinstance(private, kinds.Ed25519PrivateKey):
            raise KeyFileError("Expected an Ed25519 key, got one of another kind.")
        return cls._of(private)

    @classmethod
    def load(cls, path: Path) -> Self:
        """Return the key in a file that the world may not read."""
        try:
            pem = read_file(path, MAX_PEM)
            mode = stat.S_IMODE(os.stat(path).st_mode)
        except (InputError, OSError) as error:
            raise KeyFileError(f"Cannot read the key {path}: {error}.") from error
        if os.name == "posix" and mode & 0o007:
            raise KeyFileError(
                f"The key {path} can be read by every user of this machine (mode "
                f"{mode:04o}). Take that right away: chmod 600 {path}"
            )
        try:
            return cls.from_pem(pem)
        except KeyFileError as error:
            raise KeyFileError(f"{path}: {error}") from error

    @classmethod
    def _of(cls, private: Any) -> Self:
        public = base64.b64encode(private.public_key().public_bytes_raw()).decode()
        return cls(public=public, _private=private)

    def to_pem(self) -> bytes:
        """Return the key as unencrypted PKCS8 text, as OpenSSL writes it."""
        from cryptography.hazmat.primitives import serialization

        return self._private.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )

    def save(self, path: Path, *, overwrite: bool = False) -> None:
        """Write the key, whole or not at all, readable by its owner alone.

        Args:
            path: The file.
            overwrite: Whether a key that is there may be lost.
        """
        if path.exists() and not overwrite:
            raise OutputError(
                f"{path} exists, and a key that is replaced is lost. Move it away "
                "first."
            )
        write_atomically(path, self.to_pem(), mode=0o600)

    def sign(self, data: bytes) -> bytes:
        """Return the signature of some bytes."""
        return self._private.sign(data)


def require_public(value: Any, what: str = "The public key") -> str:
    """Return a public key's text, or refuse what arrived."""
    if isinstance(value, str) and len(value) == 44:
        try:
            raw = base64.b64decode(value, validate=True)
        except (binascii.Error, ValueError):
            raw = b""
        # One key, one text: what is left over in the last sign must be zero.
        if len(raw) == PUBLIC_BYTES and base64.b64encode(raw).decode() == value:
            return value
    raise WireError(
        f"{what} must be base64 of {PUBLIC_BYTES} bytes, got {shown(value)}."
    )


def verify(public: str, data: bytes, signature: bytes) -> bool:
    """Whether a signature of some bytes was made with the key of this public half.

    Args:
        public: The public key's text.
        data: What was signed.
        signature: Its signature.
    """
    raw = base64.b64decode(require_public(public))
    kinds = _ed25519()
    from cryptography.exceptions import InvalidSignature

    try:
        kinds.Ed25519PublicKey.from_public_bytes(raw).verify(signature, data)
    except (InvalidSignature, ValueError):
        # ValueError: 32 bytes that are no point of the curve, in some builds.
        return False
    return True


def _ed25519() -> Any:
    try:
        from cryptography.hazmat.primitives.asymmetric import ed25519
    except ImportError as error:
        raise SettingsError(
            "Signed letters need the package cryptography: pip install "
            "'guidefbo[connect]'"
        ) from error
    return ed25519
