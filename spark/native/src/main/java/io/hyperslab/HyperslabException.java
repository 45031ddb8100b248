package io.hyperslab;

/**
 * What went wrong, in which file and object, at which byte. There is one subclass for each kind of error, so that
 * callers can catch the kinds that they can act on. It is an {@link IllegalArgumentException} because PySpark shows those
 * in one line, and others with the stack of the JVM.
 */
public abstract class HyperslabException extends IllegalArgumentException {
  private static final long serialVersionUID = 1L;

  private final String reason;
  private final String file;
  private final String object;
  private final Long offset;

  /**
   * @param reason what was found, what was expected and what to do
   * @param file the file, or null where it is not known
   * @param object path of the object in the file, or null
   * @param offset byte in the file, or null
   */
  protected HyperslabException(
      String kind, String reason, String file, String object, Long offset) {
    super(sentence(kind, reason, file, object, offset));
    this.reason = reason;
    this.file = file;
    this.object = object;
    this.offset = offset;
  }

  private static String sentence(
      String kind, String reason, String file, String object, Long offset) {
    StringBuilder text = new StringBuilder(kind).append(": ").append(reason);
    String before = " (";
    if (file != null) {
      text.append(before).append("file ").append(file);
      before = ", ";
    }
    if (object != null) {
      text.append(before).append("object ").append(object);
      before = ", ";
    }
    if (offset != null) {
      text.append(before).append("offset ").append(offset);
      before = ", ";
    }
    return before.equals(" (") ? text.toString() : text.append(')').toString();
  }

  /** The sentence without kind and place. */
  public String reason() {
    return reason;
  }

  /** The file, or null if it is not known. */
  public String file() {
    return file;
  }

  /** Path of the object in the file, or null if it is not known. */
  public String object() {
    return object;
  }

  /** Byte in the file, or null if it is not known. */
  public Long offset() {
    return offset;
  }
}
