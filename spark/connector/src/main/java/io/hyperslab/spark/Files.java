package io.hyperslab.spark;

import io.hyperslab.InvalidInputException;
import io.hyperslab.IoException;
import io.hyperslab.NotFoundException;
import io.hyperslab.UnsupportedException;
import io.hyperslab.spark.hadoop.HadoopFiles;
import io.hyperslab.spark.writing.FolderCommit;
import java.io.IOException;
import java.nio.file.FileSystems;
import java.nio.file.FileVisitOption;
import java.nio.file.FileVisitResult;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.PathMatcher;
import java.nio.file.Paths;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.ArrayList;
import java.util.Collections;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Expands paths, globs, folders and lists into files. The files of a glob or folder are in natural order. */
final class Files {
  private static final Pattern SCHEME = Pattern.compile("([a-zA-Z][a-zA-Z0-9+.-]+):(.*)");
  private static final Pattern AUTHORITY = Pattern.compile("//([^/]*)(.*)");
  static final Pattern WILDCARD = Pattern.compile("[*?\\[{]");

  private final boolean recursive;
  private final boolean ignoreMissing;
  private final boolean columns;
  private final String filterText;
  private final PathMatcher filter;
  private final ModificationTimes times;
  /** The folder whose folders called {@code name=value} become columns; null for the given folders. */
  private final BasePath base;

  private final ReadOptions options;

  private Files(ReadOptions options) {
    this.options = options;
    recursive = options.flag("recursivefilelookup", false);
    ignoreMissing = options.ignoreMissingFiles();
    times = new ModificationTimes(options);
    base = recursive ? null : BasePath.of(options);
    columns = base == null && options.flag("filecolumns", true);
    filterText = options.text("pathglobfilter");
    filter =
        filterText == null ? null : FileSystems.getDefault().getPathMatcher("glob:" + filterText);
  }

  /**
   * The files, including duplicates. Folders called {@code name=value} below a given folder become columns, and so do the
   * wildcards of a glob if it is the only path.
   */
  static List<InputFile> of(ReadOptions options) {
    return of(options, false);
  }

  /** The files of a table whose columns are known: none if its folder is empty. */
  static List<InputFile> ofTable(ReadOptions options) {
    return of(options, true);
  }

  private static List<InputFile> of(ReadOptions options, boolean mayBeEmpty) {
    Files files = new Files(options);
    List<InputFile> found = new ArrayList<>();
    List<GivenPath> paths = options.paths();
    if (paths.isEmpty()) {
      return files.ofCatalog();
    }
    if (files.base != null) {
      files.base.check(paths);
    }
    for (GivenPath given : paths) {
      if (HadoopFiles.isRemote(given.path)) {
        found.addAll(files.remote().of(given, files.columns && paths.size() == 1));
        continue;
      }
      Path path = local(given.path);
      if (FileList.isList(path)) {
        for (GivenPath line : FileList.read(path)) {
          found.addAll(files.ofLine(line, given.dataset));
        }
      } else {
        found.addAll(files.expand(
            path, given.dataset, files.columns && paths.size() == 1 ? patternOf(path) : null));
      }
    }
    found.removeIf(file -> !files.times.accepts(file));
    if (files.base != null) {
      found.replaceAll(files.base::withFolders);
    }
    if (found.isEmpty() && !(mayBeEmpty && paths.size() == 1 && files.isEmpty(paths.get(0).path))) {
      throw HadoopFiles.isRemote(paths.get(0).path)
          ? files.remote().noFiles(paths.get(0).path)
          : files.noFiles(local(paths.get(0).path));
    }
    return found;
  }

  /** The files of the option {@code catalog}. */
  private List<InputFile> ofCatalog() {
    return options.catalog().paths().stream()
        .filter(this::accepts)
        .map(path -> new InputFile(path, null, null))
        .filter(times::accepts)
        .collect(Collectors.toList());
  }

  /** The files that a line of a list names, with a dataset if the line has none. */
  List<InputFile> ofLine(GivenPath line, String givenDataset) {
    String dataset = line.dataset == null ? givenDataset : line.dataset;
    return HadoopFiles.isRemote(line.path)
        ? remote().expand(line.path, dataset, false)
        : expand(local(line.path), dataset, null);
  }

  private RemoteListing remote() {
    return new RemoteListing(options.hadoop(), this, recursive, ignoreMissing);
  }

  private boolean isEmpty(String path) {
    return HadoopFiles.isRemote(path) ? remote().isEmpty(path) : isEmpty(local(path));
  }

  /** Whether a folder has no files and folders except those that readers skip, or only folders of partitions. */
  private static boolean isEmpty(Path folder) {
    try (Stream<Path> members = java.nio.file.Files.list(folder)) {
      return members.allMatch(member -> isHidden(member) || PartitionFolders.isPartition(member));
    } catch (IOException error) {
      return false;
    }
  }

  /** Whether the only path of a table is a folder that has folders of partitions, which become columns. */
  static boolean isPartitioned(ReadOptions options) {
    List<GivenPath> paths = options.paths();
    if (paths.size() == 1 && HadoopFiles.isRemote(paths.get(0).path)) {
      Files files = new Files(options);
      return !files.recursive && files.remote().isPartitioned(paths.get(0).path);
    }
    if (paths.size() == 1) {
      FolderCommit.finish(local(paths.get(0).path));
    }
    return paths.size() == 1
        && !options.flag("recursivefilelookup", false)
        && hasPartitions(local(paths.get(0).path));
  }

  /** Whether a path is a folder that has folders of partitions. */
  static boolean hasPartitions(Path folder) {
    if (!java.nio.file.Files.isDirectory(folder)) {
      return false;
    }
    try (Stream<Path> members = java.nio.file.Files.list(folder)) {
      return members.anyMatch(member -> PartitionFolders.isPartition(member)
          && !isHidden(member)
          && java.nio.file.Files.isDirectory(member));
    } catch (IOException error) {
      throw new IoException("cannot list the files: " + error, folder.toString(), null, null);
    }
  }

  /** The error for a path without files: the reason, and what to do. */
  private NotFoundException noFiles(Path path) {
    String why = "no such file or folder";
    if (java.nio.file.Files.isDirectory(path)) {
      try (Stream<Path> members = java.nio.file.Files.list(path)) {
        Path below = members
            .filter(member -> java.nio.file.Files.isDirectory(member) && !isHidden(member))
            .sorted()
            .findFirst()
            .orElse(null);
        why = below == null || recursive
            ? "the folder has no files (names that begin with _ or . are ignored)"
            : "the folder has no files, only folders such as \"" + below.getFileName()
                + "\": set option recursiveFileLookup=true, or use a glob such as \"" + path
                + "/*/*.h5\"";
      } catch (IOException error) {
        return new NotFoundException(
            "the folder cannot be listed: " + error.getMessage(), path.toString(), null, null);
      }
    }
    return new NotFoundException(whyFiltered(why), path.toString(), null, null);
  }

  /** The reason why there are no files: the options that leave files out, or {@code otherwise}. */
  String whyFiltered(String otherwise) {
    List<String> filters = new ArrayList<>();
    if (filter != null) {
      filters.add("pathGlobFilter \"" + filterText + "\"");
    }
    if (!times.isEmpty()) {
      filters.add("the modification times of modifiedBefore and modifiedAfter");
    }
    return filters.isEmpty() ? otherwise : "no file matches " + String.join(" and ", filters);
  }

  /** The path if it is a glob whose wildcards become columns, or null. Globs with braces or backslashes have no columns. */
  private static String patternOf(Path path) {
    String text = path.toString();
    boolean plain = text.indexOf('{') < 0 && text.indexOf('\\') < 0;
    return plain && WILDCARD.matcher(text).find() && !java.nio.file.Files.exists(path)
        ? text
        : null;
  }

  static boolean hasScheme(String path) {
    return SCHEME.matcher(path).matches() || path.startsWith("/");
  }

  /**
   * The local path of a path or a file URI.
   *
   * @throws UnsupportedException for other file systems, which are only read
   */
  static Path local(String path) {
    Matcher uri = SCHEME.matcher(path);
    if (!uri.matches()) {
      return Paths.get(path).toAbsolutePath().normalize();
    }
    if (!uri.group(1).equalsIgnoreCase("file")) {
      throw new UnsupportedException("writing to the file system of \"" + path
          + "\" is not supported: use local paths of a file system that is mounted on every node");
    }
    String raw = uri.group(2);
    Matcher authority = AUTHORITY.matcher(raw);
    if (authority.matches()) {
      if (!authority.group(1).isEmpty() && !authority.group(1).equalsIgnoreCase("localhost")) {
        throw new InvalidInputException("\"" + path + "\" names a host, \"" + authority.group(1)
            + "\": local paths have the form file:///folder/file.h5");
      }
      raw = authority.group(2);
    }
    if (java.nio.file.Files.exists(Paths.get(raw)) || !raw.contains("%")) {
      return Paths.get(raw).toAbsolutePath().normalize();
    }
    try {
      // Spark percent-encodes paths: %20 is a space.
      return Paths.get(new java.net.URI("file:" + raw)).toAbsolutePath().normalize();
    } catch (java.net.URISyntaxException | IllegalArgumentException error) {
      return Paths.get(raw).toAbsolutePath().normalize();
    }
  }

  private List<InputFile> expand(Path path, String dataset, String pattern) {
    try {
      if (java.nio.file.Files.isDirectory(path) && !isArrowContainer(path)) {
        FolderCommit.finish(path);
        return inFolder(path, dataset);
      }
      if (java.nio.file.Files.exists(path)) {
        return accepts(path)
            ? Collections.singletonList(new InputFile(path.toString(), dataset, null))
            : new ArrayList<>();
      }
      if (WILDCARD.matcher(path.toString()).find()) {
        return matches(path, dataset, pattern);
      }
    } catch (IOException error) {
      throw new IoException("cannot list the files: " + error, path.toString(), null, null);
    }
    if (ignoreMissing) {
      return new ArrayList<>();
    }
    throw new NotFoundException("no such file or folder", path.toString(), null, null);
  }

  private static boolean isHidden(Path path) {
    return HiddenNames.isHidden(path.getFileName().toString());
  }

  /** Whether a folder {@code a.h5.d} contains the subfiles of a file {@code a.h5}. */
  private static boolean isContainer(Path folder) {
    String name = folder.getFileName().toString();
    return name.endsWith(".d")
        && java.nio.file.Files.isRegularFile(
            folder.resolveSibling(name.substring(0, name.length() - 2)));
  }

  /** Whether a folder is a container of Arrow files, which is read like one HDF5 file. */
  static boolean isArrowContainer(Path folder) {
    return java.nio.file.Files.isRegularFile(folder.resolve("catalog.arrow"));
  }

  /** Whether a name matches the option {@code pathGlobFilter}. */
  boolean accepts(String name) {
    return accepts(Paths.get(name));
  }

  private boolean accepts(Path file) {
    return filter == null || filter.matches(file.getFileName());
  }

  /** The files of a folder, and of its subfolders if it has partitions. */
  private List<InputFile> inFolder(Path folder, String dataset) throws IOException {
    boolean partitioned = !recursive && hasPartitions(folder);
    List<InputFile> found = new ArrayList<>();
    for (String file : natural(below(folder, recursive || partitioned ? Integer.MAX_VALUE : 1))) {
      Map<String, String> folders =
          partitioned ? PartitionFolders.between(folder, Paths.get(file)) : Collections.emptyMap();
      found.add(new InputFile(file, dataset, null, folders));
    }
    return found;
  }

  private List<String> below(Path folder, int depth) throws IOException {
    List<String> found = new ArrayList<>();
    java.nio.file.Files.walkFileTree(
        folder, EnumSet.of(FileVisitOption.FOLLOW_LINKS), depth, new SimpleFileVisitor<Path>() {
          @Override
          public FileVisitResult preVisitDirectory(Path member, BasicFileAttributes attributes) {
            boolean skipped = !member.equals(folder) && (isHidden(member) || isContainer(member));
            if (!skipped && !member.equals(folder) && isArrowContainer(member)) {
              if (accepts(member)) {
                found.add(member.toString());
              }
              return FileVisitResult.SKIP_SUBTREE;
            }
            return skipped ? FileVisitResult.SKIP_SUBTREE : FileVisitResult.CONTINUE;
          }

          @Override
          public FileVisitResult visitFileFailed(Path member, IOException error)
              throws IOException {
            // A file that is renamed or removed meanwhile does not belong to the folder.
            if (error instanceof NoSuchFileException && !member.equals(folder)) {
              return FileVisitResult.CONTINUE;
            }
            throw error;
          }

          @Override
          public FileVisitResult visitFile(Path member, BasicFileAttributes attributes) {
            // At the greatest depth, folders are visited like files.
            boolean isInput = attributes.isRegularFile()
                || (attributes.isDirectory() && isArrowContainer(member));
            if (isInput && !isHidden(member) && accepts(member)) {
              found.add(member.toString());
            }
            return FileVisitResult.CONTINUE;
          }
        });
    return found;
  }

  private List<InputFile> matches(Path pattern, String dataset, String columns) throws IOException {
    List<Path> matched = new ArrayList<>();
    matched.add(pattern.getRoot());
    for (Path part : pattern) {
      List<Path> next = new ArrayList<>();
      boolean wild = WILDCARD.matcher(part.toString()).find();
      PathMatcher matcher = wild ? FileSystems.getDefault().getPathMatcher("glob:" + part) : null;
      for (Path parent : matched) {
        if (!wild) {
          if (java.nio.file.Files.exists(parent.resolve(part))) {
            next.add(parent.resolve(part));
          }
        } else if (java.nio.file.Files.isDirectory(parent)) {
          try (Stream<Path> members = java.nio.file.Files.list(parent)) {
            members
                .filter(member -> matcher.matches(member.getFileName())
                    && !isHidden(member)
                    && !isContainer(member))
                .forEach(next::add);
          }
        }
      }
      matched = next;
    }
    List<InputFile> found = new ArrayList<>();
    for (Path path : matched) {
      if (java.nio.file.Files.isDirectory(path) && !isArrowContainer(path)) {
        FolderCommit.finish(path);
        found.addAll(inFolder(path, dataset));
      } else if (accepts(path)) {
        found.add(new InputFile(path.toString(), dataset, columns));
      }
    }
    if (found.isEmpty() && !ignoreMissing) {
      String hint = pattern.toString().contains("**")
          ? " (** means * here: to read all folders below a folder, load the folder with option recursiveFileLookup=true)"
          : "";
      throw new NotFoundException("no file matches" + hint, pattern.toString(), null, null);
    }
    found.sort((a, b) -> compareNaturally(a.path, b.path));
    return found;
  }

  /** Sorts names in natural order and removes duplicates: run_2 is before run_10. */
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
      if (isDigit(a.charAt(i)) && isDigit(b.charAt(j))) {
        int endA = end(a, i);
        int endB = end(b, j);
        order = new java.math.BigInteger(a.substring(i, endA))
            .compareTo(new java.math.BigInteger(b.substring(j, endB)));
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

  private static boolean isDigit(char c) {
    return c >= '0' && c <= '9';
  }

  private static int end(String text, int start) {
    int end = start;
    while (end < text.length() && isDigit(text.charAt(end))) {
      end++;
    }
    return end;
  }
}
