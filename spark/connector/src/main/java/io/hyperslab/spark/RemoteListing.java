package io.hyperslab.spark;

import io.hyperslab.NotFoundException;
import io.hyperslab.UnsupportedException;
import io.hyperslab.spark.hadoop.HadoopEntry;
import io.hyperslab.spark.hadoop.HadoopFiles;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileSystems;
import java.nio.file.PathMatcher;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;

/** Expands paths, globs, folders and lists of Hadoop's file systems into files, by the rules of {@link Files}. */
final class RemoteListing {
  /** The file in a container of Arrow files that tells it from other folders. */
  private static final String CATALOG = "catalog.arrow";

  /** Maximum length of a list in bytes. */
  private static final int MAX_LIST_BYTES = 64 << 20;

  private final HadoopFiles hadoop;
  private final Files files;
  private final boolean recursive;
  private final boolean ignoreMissing;

  RemoteListing(HadoopFiles hadoop, Files files, boolean recursive, boolean ignoreMissing) {
    this.hadoop = hadoop;
    this.files = files;
    this.recursive = recursive;
    this.ignoreMissing = ignoreMissing;
  }

  /** The files of a path, or those that it lists. */
  List<InputFile> of(GivenPath given, boolean columns) {
    String address = hadoop.address(given.path);
    HadoopEntry entry = hadoop.find(address);
    if (entry == null || entry.isFolder || !isList(entry)) {
      return expand(address, entry, given.dataset, columns);
    }
    byte[] bytes = hadoop.firstBytes(address, MAX_LIST_BYTES);
    List<String> lines = Arrays.asList(new String(bytes, StandardCharsets.UTF_8).split("\\R"));
    List<InputFile> found = new ArrayList<>();
    for (GivenPath line : FileList.parsed(address, lines, file -> resolved(address, file))) {
      found.addAll(files.ofLine(line, given.dataset));
    }
    return found;
  }

  private boolean isList(HadoopEntry entry) {
    String name = entry.name.toLowerCase(Locale.ROOT);
    return FileList.hasSuffix(name)
        || (name.indexOf('.') < 0
            && FileList.beginsWithFileName(
                hadoop.firstBytes(entry.address, FileList.PREFIX_BYTES),
                file -> exists(resolved(entry.address, file))));
  }

  private boolean exists(String path) {
    return HadoopFiles.isRemote(path)
        ? hadoop.find(hadoop.address(path)) != null
        : java.nio.file.Files.exists(Files.local(path));
  }

  private static String resolved(String list, String file) {
    return Files.hasScheme(file) ? file : parent(list) + "/" + file;
  }

  private static String parent(String address) {
    return address.substring(0, address.lastIndexOf('/'));
  }

  /** The path in an address. */
  private static String pathOf(String address) {
    int start = address.indexOf('/', address.indexOf("://") + 3);
    return start < 0 ? "/" : address.substring(start);
  }

  List<InputFile> expand(String path, String dataset, boolean columns) {
    String address = hadoop.address(path);
    return expand(address, hadoop.find(address), dataset, columns);
  }

  private List<InputFile> expand(
      String address, HadoopEntry entry, String dataset, boolean columns) {
    if (entry != null && entry.isFolder) {
      return inFolder(entry, dataset);
    }
    if (entry != null) {
      return files.accepts(entry.name)
          ? Collections.singletonList(new InputFile(entry, dataset, null, Collections.emptyMap()))
          : new ArrayList<>();
    }
    if (Files.WILDCARD.matcher(pathOf(address)).find()) {
      boolean isPlain = address.indexOf('{') < 0 && address.indexOf('\\') < 0;
      return matches(address, dataset, columns && isPlain ? address : null);
    }
    if (ignoreMissing) {
      return new ArrayList<>();
    }
    throw new NotFoundException("no such file or folder", address, null, null);
  }

  private static NotFoundException noMatch(String pattern) {
    String hint = pattern.contains("**")
        ? " (** means * here: to read all folders below a folder, load the folder with option recursiveFileLookup=true)"
        : "";
    return new NotFoundException("no file matches" + hint, pattern, null, null);
  }

  private List<InputFile> matches(String pattern, String dataset, String columns) {
    String path = pathOf(pattern);
    List<HadoopEntry> matched = new ArrayList<>();
    List<String> parents = new ArrayList<>();
    parents.add(pattern.substring(0, pattern.length() - path.length()));
    String[] parts = path.substring(1).split("/");
    for (int i = 0; i < parts.length; i++) {
      String part = parts[i];
      boolean isLast = i == parts.length - 1;
      List<String> next = new ArrayList<>();
      if (!Files.WILDCARD.matcher(part).find()) {
        for (String parent : parents) {
          HadoopEntry entry = isLast ? hadoop.find(parent + "/" + part) : null;
          if (entry != null) {
            matched.add(entry);
          }
          next.add(parent + "/" + part);
        }
        parents = next;
        continue;
      }
      PathMatcher matcher = FileSystems.getDefault().getPathMatcher("glob:" + part);
      for (String parent : parents) {
        List<HadoopEntry> members =
            hadoop.members(parent.endsWith(":/") || isRoot(parent) ? parent + "/" : parent);
        Set<String> names = names(members);
        for (HadoopEntry member : members) {
          if (matcher.matches(Paths.get(member.name))
              && !HiddenNames.isHidden(member.name)
              && !isContainer(member, names)) {
            if (isLast) {
              matched.add(member);
            } else if (member.isFolder) {
              next.add(member.address);
            }
          }
        }
      }
      parents = next;
    }
    List<InputFile> found = new ArrayList<>();
    for (HadoopEntry entry : matched) {
      if (entry.isFolder) {
        found.addAll(inFolder(entry, dataset));
      } else if (files.accepts(entry.name)) {
        found.add(new InputFile(entry, dataset, columns, Collections.emptyMap()));
      }
    }
    if (found.isEmpty() && !ignoreMissing) {
      throw noMatch(pattern);
    }
    found.sort((a, b) -> Files.compareNaturally(a.path, b.path));
    return found;
  }

  private static boolean isRoot(String address) {
    return address.indexOf('/', address.indexOf("://") + 3) < 0;
  }

  private static Set<String> names(List<HadoopEntry> members) {
    Set<String> names = new HashSet<>();
    members.forEach(member -> names.add(member.name));
    return names;
  }

  /** Whether a folder {@code a.h5.d} contains the subfiles of a file {@code a.h5}. */
  private static boolean isContainer(HadoopEntry member, Set<String> siblings) {
    return member.isFolder
        && member.name.endsWith(".d")
        && siblings.contains(member.name.substring(0, member.name.length() - 2));
  }

  private List<InputFile> inFolder(HadoopEntry folder, String dataset) {
    List<HadoopEntry> members = hadoop.members(folder.address);
    if (names(members).contains(CATALOG)) {
      throw new UnsupportedException(
          "a container of Arrow files on a Hadoop file system is not supported: copy it to a local folder",
          folder.address,
          null,
          null);
    }
    boolean partitioned = !recursive && hasPartitions(members);
    List<HadoopEntry> all = recursive || partitioned ? below(folder) : members;
    all.sort((a, b) -> Files.compareNaturally(a.address, b.address));
    List<InputFile> found = new ArrayList<>();
    for (HadoopEntry file : all) {
      if (!file.isFolder && !HiddenNames.isHidden(file.name) && files.accepts(file.name)) {
        Map<String, String> folders = partitioned
            ? PartitionFolders.between(
                Paths.get(pathOf(folder.address)), Paths.get(pathOf(file.address)))
            : Collections.emptyMap();
        found.add(new InputFile(file, dataset, null, folders));
      }
    }
    return found;
  }

  /** The files below a folder, without those in hidden folders and the subfiles of others. */
  private List<HadoopEntry> below(HadoopEntry folder) {
    List<HadoopEntry> all = new ArrayList<>(hadoop.filesBelow(folder.address));
    Set<String> addresses = new HashSet<>();
    all.forEach(file -> addresses.add(file.address));
    all.removeIf(file -> {
      String within = file.address.substring(folder.address.length());
      for (int end = within.indexOf('/', 1); end > 0; end = within.indexOf('/', end + 1)) {
        String name = within.substring(within.lastIndexOf('/', end - 1) + 1, end);
        String above = folder.address + within.substring(0, end);
        if (HiddenNames.isHidden(name)
            || (name.endsWith(".d")
                && addresses.contains(above.substring(0, above.length() - 2)))) {
          return true;
        }
        if (addresses.contains(above + "/" + CATALOG)) {
          throw new UnsupportedException(
              "a container of Arrow files on a Hadoop file system is not supported: copy it to a local folder",
              above,
              null,
              null);
        }
      }
      return false;
    });
    return all;
  }

  private static boolean hasPartitions(List<HadoopEntry> members) {
    return members.stream()
        .anyMatch(member -> member.isFolder
            && PartitionFolders.isPartition(member.name)
            && !HiddenNames.isHidden(member.name));
  }

  /** Whether a path is a folder that has folders of partitions. */
  boolean isPartitioned(String path) {
    HadoopEntry entry = hadoop.find(hadoop.address(path));
    return entry != null && entry.isFolder && hasPartitions(hadoop.members(entry.address));
  }

  /** Whether a folder has no files and folders except those that readers skip, or only folders of partitions. */
  boolean isEmpty(String path) {
    HadoopEntry entry = hadoop.find(hadoop.address(path));
    return entry != null
        && entry.isFolder
        && hadoop.members(entry.address).stream()
            .allMatch(member ->
                HiddenNames.isHidden(member.name) || PartitionFolders.isPartition(member.name));
  }

  /** The error for a path without files: the reason, and what to do. */
  NotFoundException noFiles(String path) {
    String address = hadoop.address(path);
    HadoopEntry entry = hadoop.find(address);
    String why = "no such file or folder";
    if (entry != null && entry.isFolder) {
      HadoopEntry below = hadoop.members(address).stream()
          .filter(member -> member.isFolder && !HiddenNames.isHidden(member.name))
          .min((a, b) -> a.name.compareTo(b.name))
          .orElse(null);
      why = below == null || recursive
          ? "the folder has no files (names that begin with _ or . are ignored)"
          : "the folder has no files, only folders such as \"" + below.name
              + "\": set option recursiveFileLookup=true, or use a glob such as \"" + address
              + "/*/*.h5\"";
    }
    return new NotFoundException(files.whyFiltered(why), address, null, null);
  }
}
