package io.hyperslab.spark;

import io.hyperslab.IoException;
import io.hyperslab.NotFoundException;
import io.hyperslab.UnsupportedException;
import java.io.IOException;
import java.nio.file.FileSystems;
import java.nio.file.FileVisitOption;
import java.nio.file.Path;
import java.nio.file.PathMatcher;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Which files a list of paths, globs and folders stands for. Files of one glob or folder come in natural order. */
final class Files {
  private static final Pattern SCHEME = Pattern.compile("([a-zA-Z][a-zA-Z0-9+.-]+):(.*)");
  private static final Pattern WILDCARD = Pattern.compile("[*?\\[{]");

  private final boolean recursive;
  private final boolean ignoreMissing;
  private final boolean columns;
  private final PathMatcher filter;

  private Files(ReadOptions options) {
    recursive = options.flag("recursivefilelookup", false);
    ignoreMissing = options.ignoreMissingFiles();
    columns = options.flag("filecolumns", true);
    String glob = options.text("pathglobfilter");
    filter = glob == null ? null : FileSystems.getDefault().getPathMatcher("glob:" + glob);
  }

  /** Each file and dataset once. The wildcards of a glob become columns where it is the only path. */
  static List<InputFile> of(ReadOptions options) {
    Files files = new Files(options);
    List<InputFile> found = new ArrayList<>();
    List<String> paths = options.paths();
    for (String given : paths) {
      Path path = local(given);
      if (FileList.is(path)) {
        for (FileList.Line line : FileList.read(path)) {
          files.expand(local(line.file)).forEach(file -> found.add(new InputFile(file, line.dataset, null)));
        }
        continue;
      }
      String pattern = files.columns && paths.size() == 1 ? patternOf(path) : null;
      for (String file : files.expand(path)) {
        // A file of a folder that the glob found has no name that the glob describes.
        boolean described = pattern != null && Paths.get(file).getNameCount() == path.getNameCount();
        found.add(new InputFile(file, null, described ? pattern : null));
      }
    }
    return found.stream().distinct().collect(Collectors.toList());
  }

  /** The path where it is a glob whose wildcards stand for something; with alternatives in braces it is not. */
  private static String patternOf(Path path) {
    String text = path.toString();
    boolean plain = text.indexOf('{') < 0 && text.indexOf('\\') < 0;
    return plain && WILDCARD.matcher(text).find() && !java.nio.file.Files.exists(path) ? text : null;
  }

  static boolean hasScheme(String path) {
    return SCHEME.matcher(path).matches() || path.startsWith("/");
  }

  /** The local path of a path or a file URI. */
  static Path local(String path) {
    java.util.regex.Matcher uri = SCHEME.matcher(path);
    if (!uri.matches()) {
      return Paths.get(path).toAbsolutePath().normalize();
    }
    if (!uri.group(1).equalsIgnoreCase("file")) {
      throw new UnsupportedException(
          "the file system of " + path + ": only local paths (and what is mounted on every node) are read");
    }
    String raw = uri.group(2).replaceFirst("^//+", "/");
    if (java.nio.file.Files.exists(Paths.get(raw)) || !raw.contains("%")) {
      return Paths.get(raw).toAbsolutePath().normalize();
    }
    try {
      // What Spark makes of a path has %20 for a space.
      return Paths.get(new java.net.URI("file:" + raw)).toAbsolutePath().normalize();
    } catch (java.net.URISyntaxException | IllegalArgumentException error) {
      return Paths.get(raw).toAbsolutePath().normalize();
    }
  }

  private List<String> expand(Path path) {
    try {
      if (java.nio.file.Files.isDirectory(path)) {
        return inFolder(path);
      }
      if (java.nio.file.Files.exists(path)) {
        return accepts(path) ? java.util.Collections.singletonList(path.toString()) : new ArrayList<>();
      }
      if (WILDCARD.matcher(path.toString()).find()) {
        return matches(path);
      }
    } catch (IOException error) {
      throw new IoException(String.valueOf(error.getMessage()), path.toString(), null, null);
    }
    if (ignoreMissing) {
      return new ArrayList<>();
    }
    throw new NotFoundException("no such file or folder", path.toString(), null, null);
  }

  /** As in Spark's own sources, names that begin with _ or . are not data. */
  private static boolean hidden(Path path) {
    String name = path.getFileName().toString();
    return name.startsWith("_") || name.startsWith(".");
  }

  private boolean accepts(Path file) {
    return filter == null || filter.matches(file.getFileName());
  }

  private List<String> inFolder(Path folder) throws IOException {
    try (Stream<Path> walk = java.nio.file.Files.walk(folder, recursive ? Integer.MAX_VALUE : 1, FileVisitOption.FOLLOW_LINKS)) {
      return natural(
          walk.filter(java.nio.file.Files::isRegularFile)
              .filter(file -> !hidden(file) && accepts(file))
              .map(Path::toString)
              .collect(Collectors.toList()));
    }
  }

  private List<String> matches(Path pattern) throws IOException {
    List<Path> here = new ArrayList<>();
    here.add(pattern.getRoot());
    for (Path part : pattern) {
      List<Path> next = new ArrayList<>();
      boolean wild = WILDCARD.matcher(part.toString()).find();
      PathMatcher matcher = wild ? FileSystems.getDefault().getPathMatcher("glob:" + part) : null;
      for (Path parent : here) {
        if (!wild) {
          if (java.nio.file.Files.exists(parent.resolve(part))) {
            next.add(parent.resolve(part));
          }
        } else if (java.nio.file.Files.isDirectory(parent)) {
          try (Stream<Path> members = java.nio.file.Files.list(parent)) {
            members.filter(member -> matcher.matches(member.getFileName()) && !hidden(member)).forEach(next::add);
          }
        }
      }
      here = next;
    }
    List<String> files = new ArrayList<>();
    for (Path path : here) {
      if (java.nio.file.Files.isDirectory(path)) {
        files.addAll(inFolder(path));
      } else if (accepts(path)) {
        files.add(path.toString());
      }
    }
    if (files.isEmpty() && !ignoreMissing) {
      throw new NotFoundException("no file matches", pattern.toString(), null, null);
    }
    return natural(files);
  }

  /** In the order of the numbers in their names: run_2 before run_10. */
  static List<String> natural(List<String> names) {
    TreeSet<String> sorted = new TreeSet<>(Files::compareNaturally);
    sorted.addAll(names);
    return new ArrayList<>(sorted);
  }

  static int compareNaturally(String a, String b) {
    int i = 0;
    int j = 0;
    while (i < a.length() && j < b.length()) {
      int order;
      if (digit(a.charAt(i)) && digit(b.charAt(j))) {
        int endA = end(a, i);
        int endB = end(b, j);
        order = new java.math.BigInteger(a.substring(i, endA)).compareTo(new java.math.BigInteger(b.substring(j, endB)));
        i = endA;
        j = endB;
      } else {
        order = Character.compare(a.charAt(i++), b.charAt(j++));
      }
      if (order != 0) {
        return order;
      }
    }
    int order = Integer.compare(a.length() - i, b.length() - j);
    return order != 0 ? order : a.compareTo(b);
  }

  private static boolean digit(char c) {
    return c >= '0' && c <= '9';
  }

  private static int end(String text, int start) {
    int end = start;
    while (end < text.length() && digit(text.charAt(end))) {
      end++;
    }
    return end;
  }
}
