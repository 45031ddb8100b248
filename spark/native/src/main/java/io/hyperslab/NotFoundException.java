package io.hyperslab;

/** A file, object, column or attribute that is not there. */
public final class NotFoundException extends HyperslabException {
  private static final long serialVersionUID = 1L;

  public NotFoundException(String reason, String file, String object, Long offset) {
    super("NotFound", reason, file, object, offset);
  }

  public NotFoundException(String reason) {
    this(reason, null, null, null);
  }
}
