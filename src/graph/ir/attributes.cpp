#include "tare/error.h"
#include "tare/node.h"

namespace tare {
namespace {

template <class T>
const T* typed(const Attributes& attributes, std::string_view name) {
  const auto found = attributes.items().find(name);
  if (found == attributes.items().end()) {
    return nullptr;
  }
  if (const T* value = std::get_if<T>(&found->second)) {
    return value;
  }
  throw Error(ErrorCode::kInvalidModel, "",
              "attribute '" + std::string(name) + "' has an unexpected type");
}

template <class T>
const T& required(const Attributes& attributes, std::string_view name) {
  if (const T* value = typed<T>(attributes, name)) {
    return *value;
  }
  throw Error(ErrorCode::kInvalidModel, "", "attribute '" + std::string(name) + "' is missing");
}

}  // namespace

Attributes::Attributes() = default;
Attributes::Attributes(std::initializer_list<std::pair<const std::string, Attribute>> items)
    : items_(items) {}
Attributes::Attributes(const Attributes&) = default;
Attributes::Attributes(Attributes&&) noexcept = default;
Attributes& Attributes::operator=(const Attributes&) = default;
Attributes& Attributes::operator=(Attributes&&) noexcept = default;
Attributes::~Attributes() = default;

bool operator==(const Attributes&, const Attributes&) = default;

bool Attributes::has(std::string_view name) const {
  return items_.find(name) != items_.end();
}

void Attributes::set(std::string name, Attribute value) {
  items_.insert_or_assign(std::move(name), std::move(value));
}

void Attributes::erase(std::string_view name) {
  if (const auto found = items_.find(name); found != items_.end()) {
    items_.erase(found);
  }
}

std::int64_t Attributes::integer(std::string_view name) const {
  return required<std::int64_t>(*this, name);
}

std::int64_t Attributes::integer(std::string_view name, std::int64_t fallback) const {
  const auto* value = typed<std::int64_t>(*this, name);
  return value != nullptr ? *value : fallback;
}

float Attributes::real(std::string_view name) const {
  return required<float>(*this, name);
}

float Attributes::real(std::string_view name, float fallback) const {
  const auto* value = typed<float>(*this, name);
  return value != nullptr ? *value : fallback;
}

std::string Attributes::text(std::string_view name) const {
  return required<std::string>(*this, name);
}

std::string Attributes::text(std::string_view name, std::string_view fallback) const {
  const auto* value = typed<std::string>(*this, name);
  return value != nullptr ? *value : std::string(fallback);
}

std::vector<std::int64_t> Attributes::integers(std::string_view name) const {
  return required<std::vector<std::int64_t>>(*this, name);
}

std::vector<std::int64_t> Attributes::integers(std::string_view name,
                                               std::vector<std::int64_t> fallback) const {
  const auto* value = typed<std::vector<std::int64_t>>(*this, name);
  if (value != nullptr) {
    return *value;
  }
  return fallback;
}

std::vector<float> Attributes::reals(std::string_view name, std::vector<float> fallback) const {
  const auto* value = typed<std::vector<float>>(*this, name);
  if (value != nullptr) {
    return *value;
  }
  return fallback;
}

const Tensor& Attributes::tensor(std::string_view name) const {
  return required<Tensor>(*this, name);
}

}  // namespace tare
