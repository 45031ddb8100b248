package io.hyperslab.spark;

import com.fasterxml.jackson.databind.JsonNode;
import io.hyperslab.HyperslabException;
import io.hyperslab.InvalidInputException;
import io.hyperslab.IoException;
import io.hyperslab.NativeFile;
import io.hyperslab.NotFoundException;
import io.hyperslab.UnsupportedException;
import io.hyperslab.spark.hadoop.HadoopEntry;
import io.hyperslab.spark.hadoop.HadoopFiles;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.spark.sql.catalyst.analysis.NoSuchNamespaceException;
import org.apache.spark.sql.catalyst.analysis.NoSuchTableException;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.connector.catalog.NamespaceChange;
import org.apache.spark.sql.connector.catalog.StagedTable;
import org.apache.spark.sql.connector.catalog.StagingTableCatalog;
import org.apache.spark.sql.connector.catalog.SupportsNamespaces;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableCatalog;
import org.apache.spark.sql.connector.catalog.TableChange;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/**
 * A catalog of the files in a folder. Files and the groups in them are namespaces, datasets are tables. The option {@code
 * root} names the folder (by default the working folder). Other options of the catalog apply to every read. {@code CREATE
 * TABLE … AS SELECT} and {@code INSERT INTO} write datasets as {@code df.write} does; existing objects are never dropped or
 * renamed.
 *
 * <p>A path instead of the name of a file is resolved against the folder, so that a catalog called {@code hdf5} allows
 * {@code select * from hdf5.`/data/a.h5`} and {@code select * from hdf5.`/data/a.h5`.group.dataset}.
 *
 * <pre>{@code
 * spark.conf().set("spark.sql.catalog.h5", "io.hyperslab.spark.Hdf5Catalog");
 * spark.conf().set("spark.sql.catalog.h5.root", "/data");
 * spark.sql("select * from h5.`era5.h5`.group.dataset");
 * }</pre>
 */
public final class Hdf5Catalog implements StagingTableCatalog, SupportsNamespaces {
  private static final byte[] HDF5 = {(byte) 0x89, 'H', 'D', 'F', '\r', '\n', 0x1a, '\n'};
  private static final byte[] NETCDF = {'C', 'D', 'F'};

  private String name;
  /** The folder; null if it is one of a Hadoop file system. */
  private Path root;
  /** The address of the folder if it is one of a Hadoop file system, else null. */
  private String remoteRoot;

  private Map<String, String> defaults;

  @Override
  public void initialize(String catalog, CaseInsensitiveStringMap options) {
    name = catalog;
    defaults = new HashMap<>(options.asCaseSensitiveMap());
    String folder = defaults.remove("root");
    ReadOptions read = new ReadOptions(defaults);
    if (folder != null && HadoopFiles.isRemote(folder)) {
      remoteRoot = read.hadoop().address(folder).replaceAll("([^:/])/+$", "$1");
    } else {
      root = Files.local(folder == null ? "." : folder);
    }
  }

  @Override
  public String name() {
    return name;
  }

  @Override
  public String[][] listNamespaces() {
    if (remoteRoot != null) {
      HadoopFiles hadoop = hadoop();
      List<String> names = hadoop.members(remoteRoot).stream()
          .filter(file -> !file.isFolder
              && !HiddenNames.isHidden(file.name)
              && isSupported(hadoop.firstBytes(file.address, HDF5.length)))
          .map(file -> file.name)
          .collect(Collectors.toList());
      return Files.natural(names).stream()
          .map(file -> new String[] {file})
          .toArray(String[][]::new);
    }
    try (Stream<Path> files = java.nio.file.Files.list(root)) {
      List<String> names = files
          .filter(Hdf5Catalog::isSupported)
          .map(file -> file.getFileName().toString())
          .collect(Collectors.toList());
      return Files.natural(names).stream()
          .map(file -> new String[] {file})
          .toArray(String[][]::new);
    } catch (IOException error) {
      throw new IoException("cannot list the folder: " + error, root.toString(), null, null);
    }
  }

  /** Checks the signature. A file with a user block can be read, but is not listed. */
  private static boolean isSupported(Path file) {
    if (HiddenNames.isHidden(file.getFileName().toString())) {
      return false;
    }
    if (Files.isArrowContainer(file)) {
      return true;
    }
    if (!java.nio.file.Files.isRegularFile(file)) {
      return false;
    }
    byte[] start = new byte[HDF5.length];
    try (InputStream stream = java.nio.file.Files.newInputStream(file)) {
      return isSupported(Arrays.copyOf(start, Math.max(0, stream.read(start))));
    } catch (IOException error) {
      // A file that cannot be opened is not listed.
      return false;
    }
  }

  private static boolean isSupported(byte[] start) {
    return Arrays.equals(start, HDF5)
        || (start.length > NETCDF.length
            && Arrays.equals(Arrays.copyOf(start, NETCDF.length), NETCDF));
  }

  private HadoopFiles hadoop() {
    return new ReadOptions(defaults).hadoop();
  }

  @Override
  public String[][] listNamespaces(String[] namespace) throws NoSuchNamespaceException {
    if (namespace.length == 0) {
      return listNamespaces();
    }
    List<String[]> groups = new ArrayList<>();
    for (JsonNode member : members(namespace)) {
      if (member.get("kind").asText().equals("group")) {
        String[] group = Arrays.copyOf(namespace, namespace.length + 1);
        group[namespace.length] = member.get("name").asText();
        groups.add(group);
      }
    }
    return groups.toArray(new String[0][]);
  }

  @Override
  public boolean namespaceExists(String[] namespace) {
    try {
      members(namespace);
      return true;
    } catch (NoSuchNamespaceException error) {
      return false;
    }
  }

  @Override
  public Map<String, String> loadNamespaceMetadata(String[] namespace)
      throws NoSuchNamespaceException {
    members(namespace);
    return namespace.length == 0
        ? Collections.emptyMap()
        : Collections.singletonMap(
            SupportsNamespaces.PROP_LOCATION,
            file(namespace) + (namespace.length > 1 ? ":" + group(namespace) : ""));
  }

  @Override
  public Identifier[] listTables(String[] namespace) throws NoSuchNamespaceException {
    List<Identifier> tables = new ArrayList<>();
    for (JsonNode member : members(namespace)) {
      if (member.get("kind").asText().equals("dataset")) {
        tables.add(Identifier.of(namespace, member.get("name").asText()));
      }
    }
    return tables.toArray(new Identifier[0]);
  }

  @Override
  public Table loadTable(Identifier table) throws NoSuchTableException {
    if (table.namespace().length == 0) {
      if (table.name().equals(VirtualTable.FILES)) {
        Supplier<List<String>> names =
            () -> Arrays.stream(listNamespaces()).map(file -> file[0]).collect(Collectors.toList());
        return remoteRoot == null
            ? VirtualTable.files(root, names)
            : VirtualTable.files(hadoop(), remoteRoot, names);
      }
      return ofPath(table);
    }
    Map<String, String> properties = new HashMap<>(defaults);
    properties.put("path", file(table.namespace()));
    String group = group(table.namespace());
    properties.put("dataset", (group.equals("/") ? "" : group) + "/" + table.name());
    try {
      ReadOptions options = new ReadOptions(properties);
      List<InputFile> files = Files.of(options);
      StructType schema =
          Description.of(options.request(files), options).withoutOmitted(options).schema;
      boolean isOneArray = schema.length() == 2 && schema.fields()[1].name().equals(table.name());
      Hdf5Table found = new Hdf5Table(schema, TablePartitions.NONE, properties, isOneArray);
      found.files().put(options, files);
      return found;
    } catch (NotFoundException error) {
      // A dataset of the same name takes precedence.
      String session = session(file(table.namespace()));
      boolean inFile = table.namespace().length == 1 && isFile(file(table.namespace()));
      if (inFile && table.name().equals(VirtualTable.OBJECTS)) {
        return VirtualTable.objects(file(table.namespace()), session);
      } else if (inFile && table.name().equals(VirtualTable.ATTRIBUTES)) {
        return VirtualTable.attributes(file(table.namespace()), session);
      }
      throw new NoSuchTableException(table);
    }
  }

  /** The table of a file, folder or glob, as {@code load} reads it. */
  private Table ofPath(Identifier table) throws NoSuchTableException {
    Map<String, String> properties = new HashMap<>(defaults);
    properties.put("path", file(new String[] {table.name()}));
    try {
      ReadOptions options = new ReadOptions(properties);
      List<InputFile> files = Files.of(options);
      Hdf5Table found = new Hdf5Table(
          Description.columnsOf(options, files), TablePartitions.of(options, files), properties);
      found.files().put(options, files);
      return found;
    } catch (NotFoundException error) {
      if (table.name().indexOf('/') >= 0) {
        // A path, for which the reason says more than that there is no such table.
        throw error;
      }
      throw new NoSuchTableException(table);
    }
  }

  /** The options for opening a file, as JSON for the native library. */
  private String session(String file) {
    return new ReadOptions(defaults).session(HadoopFiles.isRemote(file)).toString();
  }

  private boolean isFile(String file) {
    if (HadoopFiles.isRemote(file)) {
      HadoopEntry entry = hadoop().find(file);
      return entry != null && !entry.isFolder;
    }
    return java.nio.file.Files.isRegularFile(Paths.get(file));
  }

  /** The path or address of a file. */
  private String file(String[] namespace) {
    if (HadoopFiles.isRemote(namespace[0])) {
      return hadoop().address(namespace[0]);
    }
    if (remoteRoot != null) {
      return namespace[0].startsWith("/")
          ? Paths.get(namespace[0]).normalize().toString()
          : remoteRoot + "/" + namespace[0];
    }
    return root.resolve(namespace[0]).normalize().toString();
  }

  private static String group(String[] namespace) {
    return "/" + String.join("/", Arrays.copyOfRange(namespace, 1, namespace.length));
  }

  private JsonNode members(String[] namespace) throws NoSuchNamespaceException {
    if (namespace.length == 0) {
      return ReadOptions.JSON.createArrayNode();
    }
    try {
      String file = file(namespace);
      return Description.parse(NativeFile.members(file, group(namespace), session(file)));
    } catch (NotFoundException | InvalidInputException error) {
      throw new NoSuchNamespaceException(namespace);
    }
  }

  private static HyperslabException readOnly(String what) {
    return new UnsupportedException(
        what + " is not supported: the catalog creates and appends, and changes nothing else");
  }

  /** Refuses an empty table: HDF5 could not tell its columns from other datasets. */
  @Override
  public Table createTable(
      Identifier table, StructType schema, Transform[] partitions, Map<String, String> properties) {
    throw new UnsupportedException("CREATE TABLE " + table + " without AS SELECT is not supported");
  }

  @Override
  public StagedTable stageReplace(
      Identifier table, StructType schema, Transform[] partitions, Map<String, String> properties) {
    throw readOnly("REPLACE TABLE " + table);
  }

  @Override
  public StagedTable stageCreateOrReplace(
      Identifier table, StructType schema, Transform[] partitions, Map<String, String> properties) {
    throw readOnly("CREATE OR REPLACE TABLE " + table);
  }

  /** The table of {@code CREATE TABLE … AS SELECT}; nothing is written yet. */
  @Override
  public StagedTable stageCreate(
      Identifier table, StructType schema, Transform[] partitions, Map<String, String> properties) {
    if (partitions.length > 0) {
      throw readOnly("PARTITIONED BY or CLUSTERED BY");
    }
    if (table.namespace().length == 0) {
      throw new InvalidInputException("CREATE TABLE " + table.name() + " names no dataset: " + name
          + ".`" + table.name() + "`.dataset");
    }
    Map<String, String> all = new HashMap<>(defaults);
    properties.forEach((option, value) -> {
      if (!option.equals(TableCatalog.PROP_PROVIDER) && !option.equals(TableCatalog.PROP_OWNER)) {
        all.put(option, value);
      }
    });
    all.put("path", file(table.namespace()));
    String group = group(table.namespace());
    all.put("dataset", (group.equals("/") ? "" : group) + "/" + table.name());
    return new NewTable(schema, all);
  }

  @Override
  public Table alterTable(Identifier table, TableChange... changes) {
    throw readOnly("ALTER TABLE " + table);
  }

  @Override
  public boolean dropTable(Identifier table) {
    if (!tableExists(table)) {
      return false;
    }
    throw readOnly("DROP TABLE " + table);
  }

  @Override
  public void renameTable(Identifier from, Identifier to) {
    throw readOnly("ALTER TABLE " + from + " RENAME");
  }

  @Override
  public void createNamespace(String[] namespace, Map<String, String> metadata) {
    throw readOnly("CREATE NAMESPACE");
  }

  @Override
  public void alterNamespace(String[] namespace, NamespaceChange... changes) {
    throw readOnly("ALTER NAMESPACE");
  }

  @Override
  public boolean dropNamespace(String[] namespace, boolean cascade) {
    throw readOnly("DROP NAMESPACE");
  }
}
