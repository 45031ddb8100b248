package io.hyperslab;

/**
 * An error, with the file, object and byte offset at which it occurred. Each kind of error is a subclass, so callers can
 * catch the kinds that they can handle. The superclass is {@link IllegalArgumentException} because PySpark shows those in
 * one line, and other exceptions with the JVM's stack trace.
 *
 * <pre>{@code
 * try {
 *   spark.read().format("hdf5").load("a.h5").count();
 * } catch (NotFoundException error) {
 *   System.err.println(error.file() + ": " + error.reason());
 * }
 * }</pre>
 */
public abstract class HyperslabException extends IllegalArgumentException {
  private static final long serialVersionUID = 1L;

  private final String reason;
  private final String file;
  private final String object;
  private final Long offset;

  /**
   * Creates an exception whose message combines the kind, the reason and the location.
   *
   * @param kind name of the kind, such as {@code NotFound}
   * @param reason what was found, what was expected and what to do
   * @param file path of the file, or null if unknown
   * @param object path of the object in the file, or null if unknown
   * @param offset byte offset in the file, or null if unknown
   */
  protected HyperslabException(
      String kind, String reason, String file, String object, Long offset) {
    super(message(kind, reason, file, object, offset));
    this.reason = reason;
    this.file = file;
    this.object = object;
    this.offset = offset;
  }

  private static String message(
      String kind, String reason, String file, String object, Long offset) {
    StringBuilder text = new StringBuilder(kind).append(": ").append(reason);
    String separator = " (";
    if (file != null) {
      text.append(separator).append("file ").append(file);
      separator = ", ";
    }
    if (object != null) {
      text.append(separator).append("object ").append(object);
      separator = ", ";
    }
    if (offset != null) {
      text.append(separator).append("offset ").append(offset);
      separator = ", ";
    }
    return separator.equals(" (") ? text.toString() : text.append(')').toString();
  }

  /** Returns the message without the kind and the location. */
  public String reason() {
    return reason;
  }

  /** Returns the path of the file, or null if unknown. */
  public String file() {
    return file;
  }

  /** Returns the path of the object in the file, or null if unknown. */
  public String object() {
    return object;
  }

  /** Returns the byte offset in the file, or null if unknown. */
  public Long offset() {
    return offset;
  }
}
