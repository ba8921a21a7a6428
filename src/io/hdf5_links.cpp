// Lists the datasets of a file, through groups, or the groups themselves. Links into other
// files are refused: samples that come from a stranger could point to any file of the user.
// Groups may contain themselves, so depth and number are bounded.
#include "io/hdf5_links.h"

#include "base/natural_order.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace tare::hdf5 {
namespace {

// Files may link groups into themselves.
constexpr int kMaxDepth = 8;
constexpr const char* kLabels = "labels";

struct Link {
  std::string name;
  bool is_external = false;
};

/// Data of the dataset that lie in other files, which may be any files of the user.
void require_inside(const Handle& dataset, const std::string& name) {
  const Handle properties = owned(H5Dget_create_plist(dataset.get()), "its storage");
  const bool is_virtual = H5Pget_layout(properties.get()) == H5D_VIRTUAL;
  if (is_virtual || checked(H5Pget_external_count(properties.get()), "its storage") != 0) {
    throw Error(ErrorCode::kInvalidData, "'" + name + "'", "has its elements in other files")
        .expected("a dataset that holds them");
  }
}

bool leads_out(const H5L_info_t& link) {
  return link.type != H5L_TYPE_HARD && link.type != H5L_TYPE_SOFT;
}

struct Links {
  std::size_t most;
  std::vector<Link> found{};
};

herr_t take_link(hid_t, const char* name, const H5L_info_t* info, void* to) {
  auto& links = *static_cast<Links*>(to);
  links.found.push_back({name, leads_out(*info)});
  return links.found.size() < links.most ? 0 : 1;
}

/// Those of one group, sorted by name; of too many, `most`.
std::vector<Link> links_of(const Handle& group, std::size_t most) {
  Links links{most};
  checked(H5Literate(group.get(), H5_INDEX_NAME, H5_ITER_INC, nullptr, take_link, &links),
          "its list of datasets cannot be read");
  return std::move(links.found);
}

class Walk {
 public:
  explicit Walk(std::size_t most) : most_(most) {}

  std::vector<NamedDataset> take() { return std::move(found_); }

  void group(const Handle& group, const std::string& prefix, int depth) {
    const std::vector<Link> links = links_of(group, most_);
    links_ += links.size();
    if (links_ >= most_ || depth > kMaxDepth) {
      throw Error(ErrorCode::kInvalidData, "", "has too many or too deeply nested groups")
          .expected("one dataset per model input, or a group for each of at most " +
                    std::to_string(kMostGroups) + " samples");
    }
    for (const Link& link : links) {
      entry(group, link, prefix + link.name, depth);
    }
  }

 private:
  void entry(const Handle& parent, const Link& link, const std::string& name, int depth) {
    if (link.is_external) {
      throw Error(ErrorCode::kInvalidData, "'" + name + "'", "is a link into another file")
          .expected("a dataset");
    }
    Handle object = owned(H5Oopen(parent.get(), link.name.c_str(), H5P_DEFAULT),
                          "'" + name + "' cannot be opened");
    switch (H5Iget_type(object.get())) {
      case H5I_DATASET:
        require_inside(object, name);
        found_.push_back({name, std::move(object)});
        break;
      case H5I_GROUP:
        group(object, name + "/", depth + 1);
        break;
      default:
        break;  // a named type holds no samples
    }
  }

  std::size_t most_;
  std::vector<NamedDataset> found_;
  std::size_t links_ = 0;
};

/// Whether all names are one and the same with a number behind it.
bool are_numbered(const std::vector<Link>& links) {
  const std::string_view name = before_number(links.front().name);
  return std::all_of(links.begin(), links.end(), [&](const Link& link) {
    return before_number(link.name) == name && link.name.size() > name.size();
  });
}

/// False for a link that leads nowhere, whose error others find.
bool is_group(const Handle& file, const Link& link) {
  if (link.is_external) {
    return false;
  }
  const Handle object(H5Oopen(file.get(), link.name.c_str(), H5P_DEFAULT));
  if (object.get() < 0) {
    H5Eclear2(H5E_DEFAULT);
    return false;
  }
  return H5Iget_type(object.get()) == H5I_GROUP;
}

}  // namespace

void require_link_inside(const Handle& place, const std::string& name) {
  H5L_info_t link{};
  checked(H5Lget_info(place.get(), name.c_str(), &link, H5P_DEFAULT), "cannot be opened");
  if (leads_out(link)) {
    throw Error(ErrorCode::kInvalidData, "", "is a link into another file");
  }
}

std::vector<NamedDataset> datasets(const Handle& place, std::size_t most) {
  Walk walk(most);
  walk.group(place, "", 0);
  return walk.take();
}

NumberedGroups numbered_groups(const Handle& file) {
  NumberedGroups result;
  std::vector<Link> links = links_of(file, kMostGroups + 1);
  const auto labels = std::find_if(links.begin(), links.end(),
                                   [](const Link& link) { return link.name == kLabels; });
  if (labels != links.end()) {
    result.labels = true;
    links.erase(labels);
  }
  if (links.empty() || links.size() > kMostGroups || !are_numbered(links)) {
    return {};
  }
  std::sort(links.begin(), links.end(),
            [](const Link& a, const Link& b) { return comes_before(a.name, b.name); });
  if (!is_group(file, links.front())) {
    return {};
  }
  const Handle first = owned(H5Gopen2(file.get(), links.front().name.c_str(), H5P_DEFAULT),
                             "'" + links.front().name + "' cannot be opened");
  if (datasets(first).empty()) {
    return {};
  }
  for (Link& link : links) {
    result.names.push_back(std::move(link.name));
  }
  return result;
}

}  // namespace tare::hdf5
