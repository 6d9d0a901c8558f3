"""Text and HTML representations of a measurement."""

from __future__ import annotations

import html

from . import _core


def _rows(found: _core.Measurement) -> list[tuple[str, str]]:
    rows = []
    if found.relative_error is not None:
        rows.append(("relative error", f"{found.relative_error:.4g}"))
    rows.append(("error, Frobenius", f"{found.error_frobenius:.4g}"))
    if found.error_interval is not None:
        low, high = found.error_interval
        rows.append(("95 % interval", f"{low:.4g} .. {high:.4g}"))
    rows.append(("found", "exactly" if found.error_is_exact else f"from {found.error_basis}"))
    if found.spectral_error_lower is not None:
        rows.append(("error, spectral", f"at least {found.spectral_error_lower:.4g}"))
    certificate = found.certificate
    if certificate is not None:
        for name, bound in (
            ("certified, Frobenius", certificate.frobenius),
            ("certified, spectral", certificate.spectral),
        ):
            if bound is not None:
                rows.append((name, f"at most {bound.value:.4g}, confidence {bound.confidence:g}"))
    if found.apply_seconds_1 is not None:
        rows.append(("seconds, 1 vector", f"{found.apply_seconds_1:.3g}"))
    if found.apply_seconds_64 is not None:
        rows.append(("seconds, 64 vectors", f"{found.apply_seconds_64:.3g}"))
    if found.worse_than_zero:
        rows.append(("note", "the zero matrix is closer"))
    return rows


def _text(found: _core.Measurement) -> str:
    rows = _rows(found)
    width = max(len(name) for name, _ in rows)
    return "\n".join(["Measurement", *(f"  {name:<{width}}  {text}" for name, text in rows)])


def _html(found: _core.Measurement) -> str:
    rows = "".join(
        f"<tr><th style='text-align:left'>{html.escape(name)}</th>"
        f"<td style='text-align:left'>{html.escape(text)}</td></tr>"
        for name, text in _rows(found)
    )
    return f"<table>{rows}</table>"


def _bound_text(bound: _core.CertifiedBound) -> str:
    return f"<CertifiedBound {bound.value:.4g}, confidence {bound.confidence:g}>"


def configure() -> None:
    """Sets the representations of the classes of `_core`, and their public module name."""
    for made in (_core.Measurement, _core.Certificate, _core.CertifiedBound):
        setattr(made, "__module__", "matapprox")  # noqa: B010
    setattr(_core.Measurement, "__repr__", _text)  # noqa: B010
    setattr(_core.Measurement, "_repr_html_", _html)  # noqa: B010
    setattr(_core.CertifiedBound, "__repr__", _bound_text)  # noqa: B010
