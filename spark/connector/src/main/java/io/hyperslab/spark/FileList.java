package io.hyperslab.spark;

import io.hyperslab.HyperslabException;
import io.hyperslab.InvalidInputException;
import io.hyperslab.IoException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * A text or CSV file with a line {@code file,dataset} for each input, or {@code file} alone. Names are relative to the
 * list's folder; empty lines and those that begin with # mean nothing, a first line {@code file,dataset} is a heading,
 * and a name with a comma stands in double quotes.
 */
final class FileList {
  /** Bytes at a file's beginning in which the first line of a list ends. */
  private static final int FIRST_BYTES = 8192;

  private FileList() {}

  /** By its name: no HDF5 file is called so. A file without a suffix is a list if its first line names a file. */
  static boolean is(Path path) {
    String name = path.getFileName() == null
        ? ""
        : path.getFileName().toString().toLowerCase(java.util.Locale.ROOT);
    if (!java.nio.file.Files.isRegularFile(path)) {
      return false;
    }
    return name.endsWith(".csv")
        || name.endsWith(".txt")
        || (name.indexOf('.') < 0 && namesFile(path));
  }

  private static boolean namesFile(Path path) {
    byte[] start = new byte[FIRST_BYTES];
    int length = 0;
    try (InputStream stream = java.nio.file.Files.newInputStream(path)) {
      for (int more = 0;
          more >= 0 && length < start.length;
          more = stream.read(start, length, start.length - length)) {
        length += more;
      }
    } catch (IOException error) {
      // Who opens it to read values says why it cannot be read.
      return false;
    }
    String text = new String(start, 0, length, StandardCharsets.UTF_8);
    if (text.indexOf('\0') >= 0) {
      return false;
    }
    for (String line : text.split("\n", -1)) {
      List<String> fields = meaningless(line.trim(), true) ? null : fields(line.trim());
      if (fields != null) {
        try {
          return !fields.get(0).isEmpty()
              && java.nio.file.Files.exists(Files.local(resolved(path, fields.get(0))));
        } catch (InvalidPathException | HyperslabException error) {
          return false;
        }
      }
    }
    return false;
  }

  private static boolean meaningless(String line, boolean first) {
    return line.isEmpty()
        || line.startsWith("#")
        || (first && line.replace(" ", "").matches("(?i)file(,dataset)?"));
  }

  private static String resolved(Path list, String file) {
    return Files.hasScheme(file) ? file : list.resolveSibling(file).toString();
  }

  /** What the lines name, relative names resolved. */
  static List<GivenPath> read(Path list) {
    List<String> texts;
    try {
      texts = java.nio.file.Files.readAllLines(list, StandardCharsets.UTF_8);
    } catch (IOException error) {
      throw new IoException(
          "the list is no text in UTF-8: " + error.getMessage(), list.toString(), null, null);
    }
    List<GivenPath> lines = new ArrayList<>();
    for (int number = 0; number < texts.size(); number++) {
      String text = texts.get(number).trim();
      if (meaningless(text, number == 0)) {
        continue;
      }
      List<String> fields = fields(text);
      if (fields == null || fields.size() > 2 || fields.get(0).isEmpty()) {
        throw new InvalidInputException(
            "line " + (number + 1) + " of the list " + list + " is no \"file,dataset\": " + text);
      }
      String dataset = fields.size() == 2 && !fields.get(1).isEmpty() ? fields.get(1) : null;
      lines.add(new GivenPath(resolved(list, fields.get(0)), dataset));
    }
    if (lines.isEmpty()) {
      throw new InvalidInputException("the list " + list + " names no file");
    }
    return lines;
  }

  /** Null if a quote is not closed, or closes in the middle. */
  static List<String> fields(String line) {
    List<String> fields = new ArrayList<>();
    int at = 0;
    while (true) {
      StringBuilder field = new StringBuilder();
      while (at < line.length() && line.charAt(at) == ' ') {
        at++;
      }
      if (at < line.length() && line.charAt(at) == '"') {
        at++;
        while (true) {
          if (at >= line.length()) {
            return null;
          }
          char c = line.charAt(at++);
          if (c != '"') {
            field.append(c);
          } else if (at < line.length() && line.charAt(at) == '"') {
            field.append('"');
            at++;
          } else {
            break;
          }
        }
        while (at < line.length() && line.charAt(at) == ' ') {
          at++;
        }
        if (at < line.length() && line.charAt(at) != ',') {
          return null;
        }
        fields.add(field.toString());
      } else {
        while (at < line.length() && line.charAt(at) != ',') {
          field.append(line.charAt(at++));
        }
        fields.add(field.toString().trim());
      }
      if (at >= line.length()) {
        return fields;
      }
      at++;
    }
  }
}
